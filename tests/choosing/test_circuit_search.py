"""The search for a circuit, on heads with known amounts and no model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headcount.choosing.circuit_search import Kept, Margin, ladder, search_size, search_tolerance
from headcount.core.heads import Head

HEADS = [Head("encoder", layer, head) for layer in range(4) for head in range(8)]
NEEDED = frozenset(HEADS[number] for number in (3, 17, 20, 30, 31))


class Additive:
    """Every needed head is worth 1, all others nothing; a set is within the tolerance if it lacks nothing."""

    def __init__(self, error: float = 0.0) -> None:
        self.error, self.steps, self.judged = error, list[str](), 0

    def __call__(self, step: str, kept: Sequence[Kept]) -> list[Margin]:
        self.steps.append(step)
        self.judged += len(kept)
        values = [len(NEEDED & each) - len(NEEDED) + 0.5 for each in kept]
        return [Margin(value, value - self.error, value + self.error) for value in values]


def test_a_good_order_needs_no_pass() -> None:
    order = [*sorted(NEEDED), *(head for head in HEADS if head not in NEEDED)]
    judge = Additive()
    found = search_tolerance(order, judge, passes=2)
    assert found.heads == NEEDED
    assert found.settled
    assert found.sizes == (5, 5)
    assert found.curve[4].value < 0 < found.curve[5].value


@pytest.mark.parametrize("order", [HEADS, HEADS[::-1]])
def test_passes_drop_what_an_order_brought_in(order: list[Head]) -> None:
    judge = Additive()
    found = search_tolerance(order, judge, passes=2)
    assert found.heads == NEEDED
    assert found.sizes[0] > 5
    assert judge.judged < 150  # not each head of each size
    before = search_tolerance(order, Additive(), passes=0)
    assert len(before.heads) == found.sizes[0]
    assert not before.settled


def test_uncertain_bounds_need_more_heads_unless_the_estimate_decides() -> None:
    order = [*sorted(NEEDED), *(head for head in HEADS if head not in NEEDED)]
    assert len(search_tolerance(order, Additive(error=0.6), passes=1).heads) == len(HEADS)
    assert search_tolerance(order, Additive(error=0.6), passes=1, by_estimate=True).heads == NEEDED


def test_a_fixed_size() -> None:
    order = [*sorted(NEEDED), *(head for head in HEADS if head not in NEEDED)]
    shuffled = [*order[5:8], *order[:5], *order[8:]]
    found = search_size(shuffled, Additive(), passes=2, keep=5)
    assert found.heads == NEEDED
    assert found.sizes == (10, 7, 5)
    assert search_size(shuffled, Additive(), passes=0, keep=5).heads == frozenset(shuffled[:5])


def test_ladders_end_where_they_should() -> None:
    for most in range(1, 70):
        steps = ladder(most)
        assert steps == sorted(set(steps))
        assert steps[0] == 1
        assert steps[-1] == most
