"""Do the parts with the smallest scores go, and is what they lose the sum of these scores?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.budgets.blocks import Block, read_blocks, removed_of
from headcount.budgets.knapsack import best_counts
from headcount.budgets.part_sets import losses_of, select
from tests.budgets import planted
from tests.closeness import assert_same
from tests.pruning import planted_groups as groups


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6))
def test_losses_are_the_least_of_all_sets_of_that_size(scores: list[float]) -> None:
    count = len(scores)
    options = tuple(range(count + 1))
    block = Block(("encoder", 0), options[:-1], options, np.arange(count + 1.0), tuple((n,) for n in range(count)))
    found = losses_of(np.array(scores), block)
    for kept in options:
        least = min(sum(some) for some in combinations(scores, count - kept))
        assert_same(found[kept], least)


def test_the_smallest_go() -> None:
    model = planted.anatomy()
    blocks = read_blocks(model, "both", planted.costs(model), multiple=3)
    scores = planted.scores(model)
    counts = [2, 4, 1, 0]
    selection = select(model, blocks, scores, counts)
    for block, option in zip(blocks, counts, strict=True):
        gone = removed_of(selection, block)
        assert gone.sum() == block.count - block.options[option]
        assert_same(scores[block.key][gone].sum(), losses_of(scores[block.key], block)[option])


def test_dead_parts_go_and_nothing_else() -> None:
    """Planted scores of 0: the exact choice under a budget that needs nothing else to go."""
    model = planted.anatomy()
    scores = planted.scores(model)
    scores["encoder", 1][[0, 3]] = 0
    scores["encoder.units", 0][[1, 2, 5]] = 0
    blocks = read_blocks(model, "both", planted.costs(model))
    budget = sum(float(block.costs[-1]) for block in blocks) - 2 * 3 - 3
    counts = best_counts([losses_of(scores[block.key], block) for block in blocks], [b.costs for b in blocks], budget)
    assert str(select(model, blocks, scores, counts)) == "L1H0, L1H3, L0U1-2, L0U5"


def test_groups_stay_whole() -> None:
    model = hc.read_anatomy(groups.llama())
    blocks = read_blocks(model, "heads", planted.costs(model), by="group")
    scores = {block.key: np.array([0.0, 5.0, 1.0, 1.0]) for block in blocks}
    assert_same(losses_of(scores["decoder", 0], blocks[0]), np.array([7.0, 2.0, 0.0]))
    assert str(select(model, blocks, scores, [1, 2, 2])) == "L0H2-3"
