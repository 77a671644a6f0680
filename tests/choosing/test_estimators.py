"""The estimators of importance: over some examples, on halves, beside the true effects of ablation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import spearmanr

import headcount as hc
from headcount.choosing.estimators import ESTIMATORS, NORMED, estimate, prediction, stability
from headcount.choosing.importance import importance
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.pruning import jobs
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def of(kind: str, tokenizer: Any, **options: Any) -> xr.Dataset:
    model, data, task = jobs.make(kind)
    return importance(model, tokenizer, data, task=task, **options)


def test_estimates_over_some_examples(tokenizer: Any) -> None:
    found = of("classification", tokenizer)
    rows = np.array([1, 4, 7])
    model, data, task = jobs.make("classification")
    part = importance(model, tokenizer, data.iloc[rows].reset_index(drop=True), task=task)
    for name in (*ESTIMATORS, *[f"{one}_normed" for one in NORMED]):
        assert_same(estimate(found, name, rows), part[name], ROUNDED, name)
        np.testing.assert_array_equal(estimate(found, name), found[name].values)


def test_stability_against_scipy(tokenizer: Any) -> None:
    found = of("classification", tokenizer)
    for name in ("michel", "taylor", "norm"):
        generator, seen = np.random.default_rng(7), []
        for _ in range(6):
            order = generator.permutation(jobs.COUNT)
            values = found[f"values_{name}"].values.reshape(jobs.COUNT, -1)
            first, second = (values[order[part]].mean(0) for part in (slice(0, 5), slice(5, 10)))
            seen.append(spearmanr(first, second)[0])
        expected = (np.mean(seen), np.quantile(seen, 0.025), np.quantile(seen, 0.975))
        np.testing.assert_allclose(stability(found, name, splits=6, seed=7), expected, atol=1e-9)


def test_stable_where_all_examples_say_the_same(tokenizer: Any) -> None:
    found = importance(parts.classifier(parts.GRADED), tokenizer, parts.texts(16), task="sst2")
    assert stability(found, "michel", splits=5) == pytest.approx((1, 1, 1))


def test_one_example_has_no_halves(tokenizer: Any) -> None:
    found = of("classification", tokenizer, limit=1)
    assert all(np.isnan(value) for value in stability(found, "michel"))


def test_prediction_against_scipy(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    found = importance(model, tokenizer, data, task=task)
    by_loss = hc.sweep(model, tokenizer, data, task=task, how="zero", metric="loss")
    by_score = by_loss.assign(delta=-by_loss["delta"]).assign_attrs(higher_is_better=True)
    for name, swept, sign in (("michel", by_score, -1), ("taylor", by_loss, 1)):
        value, low, high = prediction(found, swept, name)
        expected = spearmanr(found[name].values.ravel(), sign * swept["delta"].values.ravel())[0]
        assert value == pytest.approx(expected)
        assert low <= value <= high
    planted_model = parts.classifier(parts.GRADED)
    found = importance(planted_model, tokenizer, parts.texts(), task="sst2")
    swept = hc.sweep(planted_model, tokenizer, parts.texts(), task="sst2", how="zero", metric="loss")
    assert prediction(found, swept, "michel")[0] == pytest.approx(1)
