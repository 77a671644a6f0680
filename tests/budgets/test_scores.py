"""Are the numbers of a result of importance those of the heads and units whose names they carry?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.budgets.scores import read_scores, read_slopes
from headcount.choosing.importance import importance
from tests import planted
from tests.budgets import small
from tests.closeness import ROUNDED, assert_same

GONE = ["L0H0", "L1", "L0U0-2", "L2U5"]


@pytest.fixture(scope="module")
def cut() -> Any:
    return hc.prune(small.classifier(), GONE)


@pytest.mark.parametrize("score", ["fisher", "taylor", "michel"])
def test_each_block_has_the_scores_of_what_is_left_of_it(cut: Any, tokenizer: Any, score: str) -> None:
    anatomy = hc.read_anatomy(cut)
    estimates = importance(cut, tokenizer, planted.texts(40), task="sst2", what="both")
    found = read_scores(anatomy, estimates, score)
    assert set(found) == {block.layer_key for block in anatomy.blocks()}
    for layer, heads in enumerate(anatomy.layout.stacks["encoder"]):
        for at, head in enumerate(heads):
            assert found["encoder", layer][at] == estimates[score].sel(stack="encoder", layer=layer, head=head)
    for layer, units in enumerate(anatomy.units.stacks["encoder"]):
        for at, unit in enumerate(units):
            named = estimates[f"unit_{score}"].sel(stack="encoder", layer=layer, unit=unit)
            assert found["encoder.units", layer][at] == named
        assert np.isfinite(found["encoder.units", layer]).all()


def test_fisher_scores_are_mean_squares_of_the_slopes(cut: Any, tokenizer: Any) -> None:
    anatomy = hc.read_anatomy(cut)
    estimates = importance(cut, tokenizer, planted.texts(40), task="sst2", what="both")
    slopes, scores = read_slopes(anatomy, estimates), read_scores(anatomy, estimates, "fisher")
    for key, values in slopes.items():
        assert values.shape == (40, len(scores[key]))
        assert_same((values**2).mean(0), scores[key], ROUNDED, key)


def test_stacks_of_their_own(tokenizer: Any) -> None:
    """Cross-attention has heads and no units; each stack has its own numbers."""
    model, data = small.family("t5")
    anatomy = hc.read_anatomy(model)
    estimates = importance(model, tokenizer, data, task="translation", what="both")
    found = read_scores(anatomy, estimates, "fisher")
    assert {stack for stack, _ in found} == {"encoder", "decoder", "cross", "encoder.units", "decoder.units"}
    for (stack, layer), values in found.items():
        name = "unit_fisher" if stack.endswith(".units") else "fisher"
        expected = estimates[name].sel(stack=stack.removesuffix(".units"), layer=layer).values
        np.testing.assert_array_equal(values, expected[np.isfinite(expected)])
