"""Executors: every unit once, none twice, each saved before the next is begun."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.engines.executors import Done, Executor, Shard, ThisProcess, current_executor, executing
from headcount.engines.run import Unit
from headcount.errors import InvalidOption
from tests import planted


@given(st.integers(1, 9), st.integers(0, 50))
def test_shards_share_the_units(count: int, units: int) -> None:
    parts = [Shard(number, count).mine(range(units)) for number in range(1, count + 1)]
    assert sorted(unit for part in parts for unit in part) == list(range(units))


def test_one_shard_is_this_process() -> None:
    assert Shard().mine(range(5)) == ThisProcess().mine(range(5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("executor", [ThisProcess(), Shard(2, 2)])
def test_a_unit_is_saved_before_the_next_is_begun(executor: Executor) -> None:
    units = [Unit(number, number, number + 1, ("toy",)) for number in (1, 3)]
    happened: list[tuple[str, int]] = []

    def work(unit: Unit) -> int:
        happened.append(("work", unit.number))
        return unit.number * 10

    for unit, result, place in executor.execute(units, work):
        assert not place
        happened.append((f"save {result}", unit.number))
    assert happened == [("work", 1), ("save 10", 1), ("work", 3), ("save 30", 3)]


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "-1/2"])
def test_wrong_shards(text: str) -> None:
    with pytest.raises(InvalidOption, match="i/n"):
        Shard.parse(text)


class FromTheEnd:
    """As an engine elsewhere would: units travel as bytes, and what comes back comes in another order."""

    elsewhere = True

    def __init__(self) -> None:
        self.units: list[int] = []

    def mine(self, numbers: Iterable[int]) -> list[int]:
        return list(numbers)

    def execute(self, units: list[Unit], work: Callable[[Unit], Any]) -> Generator[Done]:
        for unit in reversed(units):
            self.units.append(unit.number)
            yield Done(unit, pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(unit))))), "another machine")


def test_an_executor(tmp_path: Path) -> None:
    """One class: every verb runs on it without knowing it, in memory and in a study."""
    model, tokenizer, texts = planted.classifier(), planted.tokenizer(tmp_path / "words"), planted.texts(40)

    def sweep(**options: Any) -> xr.Dataset:
        return hc.sweep(
            model, tokenizer, texts, task="sst2", how="zero", compute=hc.Compute(batch_tokens=64), **options
        )

    expected, other = sweep(), FromTheEnd()
    with executing(other):
        for out in (None, tmp_path / "study"):
            found = sweep(out=out)
            assert set(found["ran_on"].values) == {"another machine"}
            xr.testing.assert_equal(found.drop_vars(["done", "ran_on"], errors="ignore"), expected)
    assert len(other.units) > 2
    assert other.units[0] > 0
    assert isinstance(current_executor(), ThisProcess)
