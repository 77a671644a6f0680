"""Each kind of metric gets the test and the interval that hold for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.ablation.evidence import which_test
from headcount.core.mean_changes import mean_changes
from headcount.core.proportions import tango_interval
from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.metrics import Metric
from tests import planted


@pytest.mark.parametrize(("kind", "metric"), [(kind, metric) for kind in KINDS.values() for metric in kind.metrics])
def test_every_metric_has_a_test(kind: Kind, metric: Metric) -> None:
    means = ("loss", "perplexity", "log_probability")
    expected = "bootstrap-t" if metric.name in means else "permutation"
    if metric.name == "accuracy" and kind.name != "token-classification":
        expected = "mcnemar"
    assert which_test(metric) == expected
    assert which_test(lambda found, true: 0.0) == "permutation"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("vocabulary"))
    return {
        metric: hc.sweep(planted.classifier(), tokenizer, planted.texts(), task="sst2", how="zero", metric=metric)
        for metric in ("accuracy", "f1", "matthews", "loss")
    }


def test_accuracy_has_tangos_interval(swept: dict[str, Any]) -> None:
    found = swept["accuracy"]
    assert found.attrs["test"] == "mcnemar"
    right = found["logits"].argmax("class") == found["label"]
    base = found["baseline_logits"].argmax("class") == found["label"]
    lost, won = (base & ~right).sum("example"), (~base & right).sum("example")
    low, high = tango_interval(lost.values, won.values, found.sizes["example"], 0.95)
    np.testing.assert_allclose(found["low"], low)
    np.testing.assert_allclose(found["high"], high)
    idle = found.isel(stack=0, layer=1, head=0)
    assert float(idle["delta"]) == 0
    assert float(idle["low"]) < -0.01, "an idle head is not known to a hundredth on 120 examples"


def test_the_loss_stands_beside_the_accuracy(swept: dict[str, Any]) -> None:
    found, loss = swept["accuracy"], swept["loss"]
    np.testing.assert_allclose(found["loss_delta"], loss["delta"], atol=1e-12)
    np.testing.assert_allclose(found["loss_q"], loss["q"], atol=1e-12)
    assert found["loss_rank_q"].isel(stack=0, layer=0).max() < 0.05
    assert found["loss_rank_q"].isel(stack=0, layer=1).min() == 1
    assert "loss_delta" not in loss
    assert loss.attrs["test"] == "bootstrap-t"


def test_a_loss_has_the_bootstrap_t(swept: dict[str, Any]) -> None:
    loss = swept["loss"]
    logits, base = loss["logits"].values[0].reshape(4, 120, 2), loss["baseline_logits"].values

    def lost(values: np.ndarray) -> np.ndarray:
        chances = np.exp(values) / np.exp(values).sum(-1, keepdims=True)
        picked = np.broadcast_to(loss["label"].values, values.shape[:-1])[..., None]
        return -np.log(np.take_along_axis(chances, picked, -1))[..., 0]

    changes = lost(logits.astype(float)) - lost(base.astype(float))
    expected = mean_changes(np.concatenate([changes, changes.mean(0, keepdims=True)]), np.ones(120))
    np.testing.assert_allclose(loss["p"].values.ravel(), expected.p[:-1], atol=1e-3)
    np.testing.assert_allclose(loss["low"].values.ravel(), expected.low[:-1], rtol=1e-5, atol=1e-9)
    assert float(loss["mean_delta_p"]) == pytest.approx(expected.p[-1], abs=1e-3)


@pytest.mark.parametrize("metric", ["f1", "matthews"])
def test_no_bound_is_tighter_than_that_of_an_unchanged_accuracy(swept: dict[str, Any], metric: str) -> None:
    found = swept[metric]
    idle = found.isel(stack=0, layer=1, head=0)
    least = 1.645**2 / (120 + 1.645**2)
    assert float(idle["bound_low"]) == pytest.approx(-least, rel=1e-3)
    assert float(idle["bound_high"]) == pytest.approx(least, rel=1e-3)


def test_bounds_lie_inside_the_intervals(swept: dict[str, Any]) -> None:
    for metric in ("accuracy", "loss"):
        found = swept[metric]
        assert (found["low"] <= found["bound_low"]).all()
        assert (found["bound_low"] <= found["delta"] + 1e-12).all()
        assert (found["bound_high"] <= found["high"]).all()
