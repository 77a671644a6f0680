"""Scores of feed-forward units, and of labels that the model itself gives: equal to a loop, planted truth, resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from transformers import MixtralConfig, MixtralForSequenceClassification

import headcount as hc
from headcount.choosing import importance as module
from headcount.choosing.estimators import estimate
from headcount.choosing.importance import importance
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, StudyProblem, UnknownHead
from tests import planted
from tests.closeness import ROUNDED, assert_same
from tests.contracts.zoo import BY_NAME, exact
from tests.pruning import jobs

VALUES = "values_unit_taylor"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def of(kind: str, tokenizer: Any, **options: Any) -> xr.Dataset:
    model, data, task = jobs.make(kind)
    return importance(model, tokenizer, data, task=task, **options)


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_equal_to_a_loop_over_examples(kind: str, tokenizer: Any) -> None:
    job = jobs.prepared(kind, tokenizer)
    both = of(kind, tokenizer, what="both")
    assert_same(both[VALUES].values, jobs.unit_slopes(job), ROUNDED)
    assert float(both["unit_michel"].max()) > 1e-5
    heads, units = of(kind, tokenizer), of(kind, tokenizer, what="units")
    for name in heads.data_vars:
        assert_same(both[name], heads[name], ROUNDED, str(name))
    for name in units.data_vars:
        assert_same(both[name], units[name], ROUNDED, str(name))
    assert set(both.data_vars) == {*heads.data_vars, *units.data_vars}
    assert "head" not in units.coords
    assert "unit" not in heads.coords


@pytest.mark.parametrize("name", ["albert", "distilbert", "llama", "modernbert", "bart"])
def test_equal_to_a_loop_in_other_families(name: str, tokenizer: Any) -> None:
    """Shared layers, gated units, two stacks."""
    model = exact(name, BY_NAME[name].kernels[0], "AutoModelForSequenceClassification")
    data = jobs.sentences().head(5)
    job = jobs.job_of(model, data, find_task("classification"), tokenizer)
    found = importance(model, tokenizer, data, task="classification", what="units")
    assert_same(found[VALUES].values, jobs.unit_slopes(job), ROUNDED)


def test_what_follows_from_the_slopes(tokenizer: Any) -> None:
    found = of("marian", tokenizer, what="both")
    slopes = found[VALUES].values.astype(float)
    assert_same(found["unit_fisher"], (slopes**2).mean(0), ROUNDED)
    assert_same(found["unit_michel"], np.abs(slopes).mean(0), ROUNDED)
    assert_same(found["unit_taylor"], slopes.mean(0), ROUNDED)
    assert_same(found["fisher"], (found["values_taylor"].values.astype(float) ** 2).mean(0), ROUNDED)
    for name in ("fisher", "unit_fisher"):
        known = np.isfinite(found[name].values)
        assert (found[f"{name}_low"].values <= found[name].values * (1 + 1e-5))[known].all()
        assert (found[f"{name}_high"].values >= found[name].values * (1 - 1e-5))[known].all()
    assert found["unit_taylor"].attrs["signed"]
    assert found["unit_fisher"].dims == ("stack", "layer", "unit")
    assert np.isnan(found["unit_fisher"].sel(stack="cross")).all(), "its layers have their units in the decoder"
    rows = np.arange(3)
    assert_same(estimate(found, "unit_fisher", rows), (slopes[:3] ** 2).mean(0), ROUNDED)
    assert_same(estimate(found, "fisher", rows), (found["values_taylor"].values[:3] ** 2).mean(0), ROUNDED)


def test_dead_units_have_scores_of_zero(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    dead = [1, 4]
    with torch.no_grad():
        hc.read_anatomy(model).feed_forward("encoder", 1).output.weight[:, dead] = 0
    found = importance(model, tokenizer, data, task=task, what="units")["unit_fisher"].values
    assert np.argwhere(found == 0).tolist() == [[0, 1, unit] for unit in dead]


def test_a_pruned_model(tokenizer: Any) -> None:
    model, data, task = jobs.make("classification")
    hc.prune(model, ["L0U0-2", "L1U", "L2H1"])
    found = importance(model, tokenizer, data, task=task, what="both")["unit_fisher"].values[0]
    assert np.isnan(found[0, :3]).all()
    assert np.isfinite(found[0, 3:]).all()
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_batches_do_not_matter(kind: str, tokenizer: Any) -> None:
    own = jobs.make(kind)[2].kind.own_answers
    one, all_at_once = (
        of(kind, tokenizer, what="both", own_labels=own, compute=hc.Compute(batch_tokens=tokens))
        for tokens in (1, 10**6)
    )
    for name in (VALUES, "values_taylor"):
        assert_same(one[name], all_at_once[name], ROUNDED, name)


def test_own_labels_are_drawn_from_the_predictions(tokenizer: Any) -> None:
    """Each example's slopes are those of one of the classes; over many seeds, as often as the model predicts it."""
    model, data, task = jobs.make("classification")
    job = jobs.job_of(model, data, task, tokenizer)
    with torch.no_grad():
        logits = [model(**jobs.alone(job, row)).logits[0] for row in range(jobs.COUNT)]
    classes = len(logits[0])
    by_class = [
        jobs.unit_slopes(job, [torch.tensor([number])] * jobs.COUNT).reshape(jobs.COUNT, -1)
        for number in range(classes)
    ]
    drawn = np.zeros((jobs.COUNT, classes))
    for seed in range(40):
        found = importance(model, tokenizer, data, task=task, what="units", own_labels=True, seed=seed)
        slopes = found[VALUES].values.reshape(jobs.COUNT, -1)
        near = np.stack([np.abs(slopes - one).max(1) for one in by_class], -1)
        assert (near.min(1) < 1e-5 * np.abs(slopes).max()).all()
        drawn[np.arange(jobs.COUNT), near.argmin(1)] += 1
    expected = torch.stack(logits).softmax(-1).double().numpy()
    error = np.sqrt((expected * (1 - expected)).sum(0) / 40) / jobs.COUNT
    assert (np.abs((drawn / 40).mean(0) - expected.mean(0)) < 4 * error).all()


def test_own_labels_do_not_depend_on_those_of_the_data(tokenizer: Any) -> None:
    for kind in ("classification", "regression"):
        model, data, task = jobs.make(kind)
        other = data.assign(label=list(data["label"])[::-1])
        found = [importance(model, tokenizer, one, task=task, own_labels=True) for one in (data, other)]
        assert_same(found[0]["values_taylor"], found[1]["values_taylor"])


def test_a_regression_without_labels_has_the_slopes_of_its_prediction(tokenizer: Any) -> None:
    model, data, task = jobs.make("regression")
    job = jobs.job_of(model, data, task, tokenizer)
    found = importance(model, tokenizer, data, task=task, own_labels=True)["values_taylor"].values
    for row in range(3):
        gates = torch.ones(found.shape[2:], requires_grad=True)
        with hc.gated(model, gates):
            prediction = model(**jobs.alone(job, row)).logits.sum()
        (slope,) = torch.autograd.grad(prediction, [gates])
        assert_same(found[row, 0], -slope.numpy(), ROUNDED)


def test_texts_are_their_own_labels(tokenizer: Any) -> None:
    for kind in jobs.KINDS:
        task = jobs.make(kind)[2]
        if task.kind.name in ("causal-lm", "masked-lm"):
            assert_same(of(kind, tokenizer)["values_taylor"], of(kind, tokenizer, own_labels=True)["values_taylor"])


def test_units_of_experts_are_refused(tokenizer: Any) -> None:
    config = MixtralConfig(
        vocab_size=200,
        hidden_size=16,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        num_local_experts=2,
        pad_token_id=0,
    )
    model = MixtralForSequenceClassification(config).eval()
    with pytest.raises(UnknownHead, match="mixtures of experts.*what='heads'") as caught:
        importance(model, tokenizer, jobs.sentences(), task="classification", what="both")
    assert "\n" not in str(caught.value)


def test_what_is_refused(tokenizer: Any) -> None:
    with pytest.raises(InvalidOption, match="got what='layers'; expected one of heads, units, both"):
        of("classification", tokenizer, what="layers")
    with pytest.raises(InvalidOption, match="own_labels=True for translation") as caught:
        of("marian", tokenizer, own_labels=True)
    assert "\n" not in str(caught.value)


def test_a_study_goes_on_and_holds_one_kind_of_result(
    tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNIT", 3)
    model, data, task = jobs.make("classification")
    options: dict[str, Any] = {"task": task, "what": "both", "own_labels": True, "out": tmp_path / "study"}
    expected = importance(model, tokenizer, data, task=task, what="both", own_labels=True)
    first = importance(model, tokenizer, data, **options, compute=hc.Compute(shard="1/2"))
    assert "unit_fisher" not in first
    found = importance(model, tokenizer, data, **options, compute=hc.Compute(shard="2/2"))
    xr.testing.assert_allclose(found[list(expected.data_vars)], expected)
    stored = hc.open_study(tmp_path / "study")["pruning/importance"].to_dataset()
    assert stored[VALUES].dtype == np.float32
    assert stored["unit"].size == stored["unit_fisher"].sizes["unit"]
    for change in ({"what": "heads"}, {"own_labels": False}):
        with pytest.raises(StudyProblem, match=next(iter(change)).removeprefix("own_")):
            importance(model, tokenizer, data, **options | change)
