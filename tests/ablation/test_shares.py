"""The share of a difference: right on planted truth, left out where the two inputs do not differ enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.ablation.shares import summarise_shares
from headcount.core.score_tables import Sums
from headcount.data.kinds.metrics import LOGIT_DIFFERENCE
from tests import planted
from tests.ablation.patch_jobs import swapped
from tests.closeness import assert_same

TEXTS = planted.texts(40, seed=1)
PAIRS = TEXTS.assign(
    counterpart=TEXTS["sentence"].str.replace("good", "x").str.replace("bad", "good").str.replace("x", "bad")
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_the_head_that_carries_the_difference_has_all_of_it(tokenizer: Any, direction: str) -> None:
    """L0H0 alone reads the word that differs."""
    how = hc.Patch(direction=direction)
    result = hc.sweep(planted.classifier(), tokenizer, PAIRS, task="sst2", how=how)
    assert result.attrs["metric"] == "log_probability"
    share = result["share"].sel(stack="encoder")
    whole, nothing = (1, 0) if direction == "denoise" else (0, 1)
    assert float(share.sel(layer=0, head=0)) == pytest.approx(whole, abs=1e-6)
    others = np.delete(share.values.ravel(), 0)
    assert_same(others, np.full(others.shape, float(nothing)), 1e-6, largest=1.0)
    assert float(result["clean"]) > float(result["corrupted"])
    assert str(result["best"].values) == "L0H0"


def test_intervals_contain_the_share_and_follow_the_formula() -> None:
    generator = np.random.default_rng(0)
    corrupted = generator.normal(-2, 1, 200)
    clean = corrupted + generator.normal(4, 1, 200)
    half = corrupted + 0.5 * (clean - corrupted)
    features = np.stack([np.stack([values, np.ones(200)], -1) for values in (corrupted, half, clean, clean)])
    shares = summarise_shares(Sums(features, LOGIT_DIFFERENCE.combine), denoise=True)
    assert_same(shares.per_choice["share"], [0.5, 1.0])
    # A constant share has no uncertainty, whatever the difference.
    assert_same(shares.per_choice["share_low"], [0.5, 1.0])
    assert shares.toward
    assert shares.overall["difference"] == pytest.approx(float((clean - corrupted).mean()))
    other = half + generator.normal(0, 1, 200)
    features[1, :, 0] = other
    shares = summarise_shares(Sums(features, LOGIT_DIFFERENCE.combine), denoise=True)
    expected = (other.mean() - corrupted.mean()) / (clean.mean() - corrupted.mean())
    assert shares.per_choice["share"][0] == pytest.approx(expected)
    assert shares.per_choice["share_low"][0] < expected < shares.per_choice["share_high"][0]


def test_no_share_of_a_difference_that_may_be_nothing() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(0, 1, (3, 50))
    features = np.stack([np.stack([row, np.ones(50)], -1) for row in values])
    shares = summarise_shares(Sums(features, LOGIT_DIFFERENCE.combine), denoise=False)
    assert shares.per_choice == {}
    assert shares.overall["difference_low"] < 0 < shares.overall["difference_high"]


def test_the_result_says_why_there_is_no_share(tokenizer: Any) -> None:
    from headcount.story.sweeps import sweep_sentences

    pairs = TEXTS.head(6).assign(counterpart=TEXTS["sentence"].head(6).map(swapped))
    pairs.loc[pairs.index[1:], "counterpart"] = pairs["sentence"][1:]
    pairs.loc[0, "counterpart"] = pairs.loc[0, "sentence"].replace("the", "a").replace("so", "it")
    result = hc.sweep(planted.classifier(), tokenizer, pairs, task="sst2", how="patch")
    assert "share" not in result
    assert any("too uncertain for a ratio" in sentence for sentence in sweep_sentences(result))
