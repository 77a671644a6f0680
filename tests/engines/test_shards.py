"""Shards: every unit once, none twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.engines.shards import Shard, run_units
from headcount.errors import InvalidOption


@given(st.integers(1, 9), st.integers(0, 50))
def test_shards_share_the_units(count: int, units: int) -> None:
    parts = [Shard(number, count).mine(range(units)) for number in range(1, count + 1)]
    assert sorted(unit for part in parts for unit in part) == list(range(units))


def test_done_units_are_left_alone() -> None:
    saved: list[tuple[int, int]] = []
    run_units(
        [True, False, False, True], Shard(), lambda unit: unit * 10, lambda unit, found: saved.append((unit, found))
    )
    assert saved == [(1, 10), (2, 20)]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "-1/2"])
def test_wrong_shards(text: str) -> None:
    with pytest.raises(InvalidOption, match="i/n"):
        Shard.parse(text)
