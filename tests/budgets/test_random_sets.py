"""Do random sets keep the budget, the options of every block and their numbers, and are all parts drawn alike?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.budgets.blocks import read_blocks, removed_of
from headcount.budgets.random_sets import random_parts, random_set
from headcount.errors import InvalidOption
from tests.budgets import planted

MODEL = planted.anatomy(10)
BLOCKS = read_blocks(MODEL, "both", planted.costs(MODEL), multiple=4, at_least=1)
WHOLE = sum(float(block.costs[-1]) for block in BLOCKS)


@given(st.floats(6, WHOLE), st.integers(0, 1000))
def test_the_budget_and_the_options_are_kept(budget: float, seed: int) -> None:
    selection = random_set(MODEL, BLOCKS, budget, seed)
    cost = 0.0
    for block in BLOCKS:
        kept = int((~removed_of(selection, block)).sum())
        assert kept in block.options
        cost += float(block.costs[block.options.index(kept)])
    assert cost <= budget * (1 + 1e-9)
    assert str(selection) == str(random_set(MODEL, BLOCKS, budget, seed))


def test_no_more_goes_than_must() -> None:
    assert len(random_set(MODEL, BLOCKS, WHOLE, 0)) == 0
    heads = read_blocks(MODEL, "heads", planted.costs(MODEL))
    assert {len(random_set(MODEL, heads, 24 - 3 * 2.5, seed)) for seed in range(9)} == {3}


def test_all_parts_are_drawn_alike() -> None:
    heads = read_blocks(MODEL, "heads", planted.costs(MODEL))
    gone = np.zeros((2, 4))
    for seed in range(400):
        selection = random_set(MODEL, heads, 12, seed)
        gone += [removed_of(selection, block) for block in heads]
    assert np.abs(gone / 400 - 0.5).max() < 0.12


def test_a_budget_that_cannot_be_kept() -> None:
    with pytest.raises(InvalidOption, match="6 is the least"):
        random_set(MODEL, BLOCKS, 5, 0)


def test_the_same_numbers() -> None:
    one, other = (random_parts(MODEL, BLOCKS, [1, 3, 2, 0], seed) for seed in (0, 1))
    for selection in (one, other):
        assert [int(removed_of(selection, block).sum()) for block in BLOCKS] == [2, 0, 2, 10]
    assert str(one) != str(other)
