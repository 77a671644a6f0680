"""Do the two halves share nothing, and are they the same for the same seed?"""

from __future__ import annotations

import pandas as pd
import pytest

from headcount.choosing.halves import FEWEST, halves
from headcount.errors import DataProblem, HeadcountError


def test_halves_share_nothing_and_are_the_same_for_the_same_seed() -> None:
    table = pd.DataFrame({"number": range(101)})
    first, second = halves(table, None, 0)
    assert sorted([*first["number"], *second["number"]]) == list(range(101))
    assert (len(first), len(second)) == (50, 51)
    again = halves(table, None, 0)
    pd.testing.assert_frame_equal(first, again[0])
    pd.testing.assert_frame_equal(second, again[1])
    assert set(halves(table, None, 1)[0]["number"]) != set(first["number"])
    few = halves(table, 60, 0)
    assert [len(part) for part in few] == [30, 30]
    assert not set(few[0]["number"]) & set(few[1]["number"])
    assert [len(part) for part in halves(table, 10_000, 0)] == [50, 51]


def test_too_few_examples_say_how_many_are_needed() -> None:
    table = pd.DataFrame({"number": range(100)})
    halves(table, 2 * FEWEST, 0)
    for few, limit in ((table.head(2 * FEWEST - 1), None), (table, 2 * FEWEST - 1), (table.head(0), None)):
        with pytest.raises(DataProblem, match=f"examples; expected at least {2 * FEWEST}"):
            halves(few, limit, 0)


def test_a_limit_below_zero() -> None:
    with pytest.raises(HeadcountError):
        halves(pd.DataFrame({"number": range(100)}), -5, 0)
