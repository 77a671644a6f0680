"""Controls: heads and units drawn at random, to the same budget or in the same numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from headcount.budgets.blocks import Block, selection_of
from headcount.budgets.knapsack import SAME, check_budget
from headcount.budgets.part_sets import select
from headcount.core.units import Selection
from headcount.models.anatomy import Anatomy


def random_set(anatomy: Anatomy, blocks: Sequence[Block], budget: float, seed: int) -> Selection:
    """Heads and units of all blocks, removed in random order until what is kept costs no more than the budget.

    A block always keeps one of its options: what was drawn there is removed when there is enough of it for the next.
    """
    check_budget([block.costs for block in blocks], budget)
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(len(block.bundles)) for block in blocks]
    owners = generator.permutation(np.repeat(np.arange(len(blocks)), [len(order) for order in orders]))
    drawn, options = [0] * len(blocks), [len(block.options) - 1 for block in blocks]
    cost = sum(float(block.costs[-1]) for block in blocks)
    for owner in owners.tolist():
        if cost <= budget * (1 + SAME):
            break
        block = blocks[owner]
        drawn[owner] += 1
        option = bisect_left(block.options, block.count - drawn[owner] * block.size)
        cost += float(block.costs[option] - block.costs[options[owner]])
        options[owner] = option
    return selection_of(
        anatomy,
        [
            (
                block,
                [
                    index
                    for bundle in order[: (block.count - block.options[option]) // block.size]
                    for index in block.bundles[bundle]
                ],
            )
            for block, order, option in zip(blocks, orders, options, strict=True)
        ],
    )


def random_parts(anatomy: Anatomy, blocks: Sequence[Block], counts: Sequence[int], seed: int) -> Selection:
    """Random heads and units of every block, as many as `counts` (numbers of options) leave out of it."""
    generator = np.random.default_rng(seed)
    return select(anatomy, blocks, {block.key: generator.random(block.count) for block in blocks}, counts)
