"""Do models take turns, and do the first ones not count?"""

from __future__ import annotations

from itertools import pairwise

from headcount.costs.turns import WARM_UP, in_turns


def test_every_turn_has_every_name_and_the_first_ones_warm_up() -> None:
    turns = list(in_turns(["a", "b", "c"], 4))
    assert len(turns) == 3 * (WARM_UP + 4)
    assert [timed for _, timed in turns] == [False] * 3 * WARM_UP + [True] * 12
    rounds = [[name for name, _ in turns[start : start + 3]] for start in range(0, len(turns), 3)]
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert all(first == second[::-1] for first, second in pairwise(rounds))
