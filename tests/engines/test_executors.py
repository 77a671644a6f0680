"""Executors: every unit once, none twice, each saved before the next is begun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.engines.executors import Executor, Shard, ThisProcess
from headcount.engines.run import Unit
from headcount.errors import InvalidOption


@given(st.integers(1, 9), st.integers(0, 50))
def test_shards_share_the_units(count: int, units: int) -> None:
    parts = [Shard(number, count).mine(range(units)) for number in range(1, count + 1)]
    assert sorted(unit for part in parts for unit in part) == list(range(units))


def test_one_shard_is_this_process() -> None:
    assert Shard.parse(None).mine(range(5)) == ThisProcess().mine(range(5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("executor", [ThisProcess(), Shard(2, 2)])
def test_a_unit_is_saved_before_the_next_is_begun(executor: Executor) -> None:
    units = [Unit(number, number, number + 1, ("toy",)) for number in (1, 3)]
    happened: list[tuple[str, int]] = []

    def work(unit: Unit) -> int:
        happened.append(("work", unit.number))
        return unit.number * 10

    executor.execute(units, work, lambda unit, found: happened.append((f"save {found}", unit.number)))
    assert happened == [("work", 1), ("save 10", 1), ("work", 3), ("save 30", 3)]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "-1/2"])
def test_wrong_shards(text: str) -> None:
    with pytest.raises(InvalidOption, match="i/n"):
        Shard.parse(text)
