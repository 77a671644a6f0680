"""Attribution beside exact patching: a linear model where they agree, a saturated one where the result says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.stats import spearmanr

import headcount as hc
from headcount.ablation.estimated import NEAR, TOO_LARGE, TOO_SMALL, WRONG_SIGN, _errors
from headcount.core.heads import Head
from headcount.errors import InvalidOption
from headcount.story.sweeps import sweep_sentences
from tests import planted
from tests.choosing import pairs
from tests.choosing.linear import linear_pair, saturated_pair
from tests.closeness import ROUNDED, assert_same


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def screened(model: Any, table: Any, tokenizer: Any, top: int = 2, control: int | None = None) -> xr.Dataset:
    chosen = hc.screen(model, tokenizer, table, task="sst2", estimate="attribution", top=top, control=control)
    return hc.sweep(model, tokenizer, table, task="sst2", how="patch", by=chosen)


def test_a_linear_model_is_estimated_exactly(tokenizer: Any) -> None:
    found = screened(*linear_pair(), tokenizer)
    assert found.attrs["screen"]["estimate"] == "attribution"
    assert_same(found["estimated"].values, found["delta"].values, ROUNDED)
    assert float(found["estimate_correlation"]) == pytest.approx(1)
    assert float(np.nanmax(found["estimate_failed"])) == NEAR
    assert sweep_sentences(found)[-1] == "Attribution is off by more than half (q < 0.05) for none of them."


def test_a_saturated_head_is_named(tokenizer: Any) -> None:
    """Both heads of the first layer are flat where they are run: their exact effects are found by the control."""
    found = screened(*saturated_pair(), tokenizer, top=1)
    carrying = {"stack": "encoder", "layer": 0, "head": 0}
    assert float(found["estimate_failed"].sel(carrying)) == TOO_SMALL
    assert float(found["estimate_error_low"].sel(carrying)) > 1
    said = sweep_sentences(found)
    assert any("L0H0 +0.000 instead of +" in one and "a saturated head" in one for one in said), said
    assert any("Rank correlation of attribution and exact patching" in one for one in said)


def test_the_correlation_is_over_the_heads_that_were_run(tokenizer: Any) -> None:
    model, table, task = pairs.make("classification")
    whole = hc.attribution(model, tokenizer, table, task=task)["attribution"].values.ravel()
    exact = hc.sweep(model, tokenizer, table, task=task, how="patch")["delta"].values.ravel()
    chosen = hc.screen(model, tokenizer, table, task=task, estimate="attribution", top=4, control=4)
    found = hc.sweep(model, tokenizer, table, task=task, how="patch", by=chosen)
    assert {tuple(head) for head in np.argwhere(found["selected"].values == 1)[:, 1:]} == {
        divmod(int(number), 4) for number in np.argsort(-np.abs(whole))[:4]
    }
    ran = np.isfinite(found["delta"].values.ravel())
    assert ran.sum() == 8
    expected = spearmanr(whole[ran], exact[ran]).statistic
    assert float(found["estimate_correlation"]) == pytest.approx(expected)
    low, high = (float(found[f"estimate_correlation_{end}"]) for end in ("low", "high"))
    assert low <= expected <= high
    control = found["selected"].values.ravel() == 2
    assert float(found["control_correlation"]) == pytest.approx(spearmanr(whole[control], exact[control]).statistic)


def test_the_ways_to_fail() -> None:
    """Estimates of 24 examples that are right, too small, too large and of the wrong sign, with little noise."""
    noise = np.random.default_rng(0).normal(0, 0.01, (5, 24))
    exact = np.array([1, 1, 0.1, 1, 0.001])[:, None] + noise
    guessed = np.array([1.2, 0.1, 1, -0.9, 0.001])[:, None] + np.zeros((5, 24))
    found = _errors(guessed, exact, 0, 100)
    assert found["estimate_failed"].tolist() == [NEAR, TOO_SMALL, TOO_LARGE, WRONG_SIGN, NEAR]
    assert found["estimate_error"] == pytest.approx((exact - guessed).mean(1))


def test_other_examples_leave_the_failures_open(tokenizer: Any) -> None:
    model, table = saturated_pair()
    half = table.iloc[:12]
    chosen = hc.screen(model, tokenizer, half, task="sst2", estimate="attribution", top=1)
    found = hc.sweep(model, tokenizer, table.iloc[12:], task="sst2", how="patch", by=chosen)
    assert "estimate_failed" not in found
    assert "computed on other examples" in sweep_sentences(found)[-1]


def test_an_estimate_of_something_else_is_refused(tokenizer: Any) -> None:
    model, table = linear_pair()
    chosen = hc.screen(model, tokenizer, table, task="sst2", estimate="attribution", top=1)
    for options, words in (
        ({"how": "zero"}, "estimates how='patch'"),
        ({"how": hc.Patch(direction="noise")}, "direction='noise'.*direction='denoise'"),
        ({"how": "patch", "metric": "log_probability"}, "log_probability.*logit_difference"),
    ):
        with pytest.raises(InvalidOption, match=words):
            hc.sweep(model, tokenizer, table, task="sst2", by=chosen, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="how= has no effect|how="):
        hc.screen(model, tokenizer, table, task="sst2", estimate="norm", how="patch", top=1)


def test_the_study_keeps_the_attribution(tokenizer: Any, tmp_path: Path) -> None:
    model, table = linear_pair()
    options: dict[str, Any] = {"task": "sst2", "out": tmp_path / "study"}
    chosen = hc.screen(model, tokenizer, table, estimate="attribution", top=2, **options)
    assert set(chosen.top) == {Head("encoder", 0, 0), Head("encoder", 0, 1)}
    hc.sweep(model, tokenizer, table, how="patch", by=chosen, **options)
    tree = hc.open_study(tmp_path / "study")
    assert {"patching/attribution", "sweep/head-patch-screened"} <= {node.path.strip("/") for node in tree.subtree}
    page = hc.report(tmp_path / "study", tmp_path / "page.html")
    text = Path(page).read_text(encoding="utf-8")
    assert "Rank correlation of attribution" in text
    assert "Estimated change of logit_difference" in text
