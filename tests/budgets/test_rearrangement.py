"""Does every swap lower the cost, is a set found that no swap improves, and are numbers kept?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.budgets.blocks import read_blocks, removed_of
from headcount.budgets.part_sets import select
from headcount.budgets.rearrangement import rearrange, swap_parts
from tests.budgets import planted
from tests.pruning import planted_groups as groups


def cost(gone: np.ndarray, slopes: np.ndarray) -> float:
    """m^T F m, with the whole matrix."""
    mask = gone.astype(float)
    return float(mask @ (slopes.T @ slopes / len(slopes)) @ mask)


@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 9), st.data())
def test_no_swap_is_left_that_lowers_the_cost(seed: int, parts: int, examples: int, data: st.DataObject) -> None:
    slopes = np.random.default_rng(seed).normal(size=(examples, parts))
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=parts, max_size=parts)))
    found = swap_parts(gone, slopes)
    assert found.sum() == gone.sum()
    assert cost(found, slopes) <= cost(gone, slopes) + 1e-12
    for one in np.flatnonzero(found):
        for other in np.flatnonzero(~found):
            swapped = found.copy()
            swapped[[one, other]] = swapped[[other, one]]
            assert cost(swapped, slopes) >= cost(found, slopes) - 1e-8 * (slopes**2).sum()
    if found.sum() in (1, parts - 1):  # one swap reaches every other set
        sets = [np.isin(np.arange(parts), some) for some in combinations(range(parts), int(gone.sum()))]
        best = min(cost(some, slopes) for some in sets)
        assert cost(found, slopes) == pytest.approx(best, abs=1e-8 * (slopes**2).sum() + 1e-12)


def test_parts_that_cancel_each_other_out_go_together() -> None:
    """Parts 2 and 3 have the largest scores, and together no effect; 0 and 1 do the same thing."""
    shared = np.random.default_rng(0).normal(size=50)
    slopes = np.stack([shared, shared, 2 * shared[::-1], -2 * shared[::-1]], -1)
    gone = np.array([True, True, False, False])
    assert swap_parts(gone, slopes).tolist() == [True, True, False, False], "no single swap leads there"
    slopes[:, 3] *= 0.5
    slopes[:, 2] *= 0.5
    slopes[:, 3] = -slopes[:, 0]
    assert swap_parts(gone, slopes).tolist() in ([True, False, False, True], [False, True, False, True])


def test_each_block_keeps_its_numbers() -> None:
    model = planted.anatomy()
    blocks = read_blocks(model, "both", planted.costs(model))
    generator = np.random.default_rng(1)
    slopes = {block.key: generator.normal(size=(5, block.count)) for block in blocks}
    scores = {key: (one**2).mean(0) for key, one in slopes.items()}
    before = select(model, blocks, scores, [2, 0, 3, 6])
    after = rearrange(model, blocks, before, slopes)
    for block in blocks:
        old, new = removed_of(before, block), removed_of(after, block)
        assert old.sum() == new.sum()
        assert cost(new, slopes[block.key]) <= cost(old, slopes[block.key])
    assert str(after) != str(before)


def test_groups_stay_whole() -> None:
    model = hc.read_anatomy(groups.llama())
    blocks = read_blocks(model, "heads", planted.costs(model), by="group")
    slopes = {block.key: np.array([[3.0, 2.0, 9.0, -9.0]]) for block in blocks}
    before = select(model, blocks, {block.key: np.arange(4.0) for block in blocks}, [1, 2, 2])
    assert str(before) == "L0H0-1"
    assert str(rearrange(model, blocks, before, slopes)) == "L0H2-3"
