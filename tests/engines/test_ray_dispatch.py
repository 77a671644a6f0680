"""Batches among real workers: each once, whatever happens to a worker; what cannot be done is named."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headcount.engines import ray_executor
from headcount.engines.ray_dispatch import TRIES, spell_unit
from headcount.engines.ray_executor import RayExecutor
from headcount.engines.run import Unit
from headcount.engines.workers import Batched, receiving, tick
from headcount.errors import ClusterProblem, DataProblem, HeadcountWarning, UnitsFailed

UNITS = [Unit(number, number * 4, number * 4 + 4, ("toy",)) for number in range(12)]


def executed(executor: RayExecutor, work: Any, units: Any = UNITS) -> dict[Any, Any]:
    return {done.unit: done.result for done in executor.execute(list(units), work)}


def note(folder: Path, unit: Unit) -> int:
    """Say that a unit is worked on, in a file of its own; how often it was before."""
    before = len(list(folder.glob(f"{unit.number}-*")))
    (folder / f"{unit.number}-{before}-{os.getpid()}").touch()
    return before


def test_every_unit_once(two_workers: RayExecutor, tmp_path: Path) -> None:
    ticks: list[float] = []

    def work(unit: Unit) -> int:
        note(tmp_path, unit)
        tick(4)
        return unit.start

    with receiving(ticks.append):
        found = executed(two_workers, work)
    assert found == {unit: unit.start for unit in UNITS}
    assert Counter(path.name.split("-")[0] for path in tmp_path.iterdir()) == {str(unit.number): 1 for unit in UNITS}
    assert sum(ticks) == 48


def test_a_unit_is_joined_from_its_batches_in_order(two_workers: RayExecutor) -> None:
    work = Batched(
        lambda unit: list(range(unit.start, unit.stop)), lambda one: one * 2, lambda unit, parts: (unit.number, parts)
    )
    found = executed(two_workers, work)
    assert found == {unit: (unit.number, [2 * one for one in range(unit.start, unit.stop)]) for unit in UNITS}


def test_quick_batches_share_a_call(two_workers: RayExecutor) -> None:
    """Ten thousand batches of no work do not take ten thousand calls, each of which is a millisecond at least."""
    work = Batched(lambda unit: list(range(10_000)), lambda one: os.getpid(), lambda unit, parts: parts)
    (done,) = two_workers.execute(UNITS[:1], work)
    assert len(done.result) == 10_000
    assert {f"process {pid}" in done.place for pid in done.result} == {True}


def test_a_worker_that_is_killed_changes_nothing(two_workers: RayExecutor, tmp_path: Path) -> None:
    """The first time, a unit ends its process; the second time it is done by another one."""

    def work(unit: Unit) -> int:
        if not note(tmp_path, unit) and unit.number in (3, 7):
            os.kill(os.getpid(), signal.SIGKILL)
        return unit.start

    with pytest.warns(HeadcountWarning, match=r"a worker \(.*, process \d+\) died; its work runs on another worker"):
        assert executed(two_workers, work) == {unit: unit.start for unit in UNITS}
    tried = Counter(int(path.name.split("-")[0]) for path in tmp_path.iterdir())
    assert tried[3] == tried[7] == 2


def test_a_unit_that_ends_every_worker_is_named(two_workers: RayExecutor, tmp_path: Path) -> None:
    """The others are finished first, and the next run is not disturbed."""

    def work(unit: Unit) -> int:
        note(tmp_path, unit)
        if unit.number == 5:
            os._exit(1)
        return unit.start

    found = {}
    said = r"1 of 12 parts failed 3 times: toy, examples 21 to 24; its worker died"
    results = two_workers.execute(list(UNITS), work)
    with pytest.warns(HeadcountWarning, match="died"), pytest.raises(UnitsFailed, match=said):
        found.update((done.unit, done.result) for done in results)
    assert found == {unit: unit.start for unit in UNITS if unit.number != 5}
    assert len(list(tmp_path.glob("5-*"))) in (TRIES - 1, TRIES), "it was suspected once when it had not begun"
    assert executed(two_workers, lambda unit: 1) == dict.fromkeys(UNITS, 1)


def test_too_little_memory_is_tried_elsewhere(two_workers: RayExecutor, tmp_path: Path) -> None:
    while [bool(handle.place) for handle in two_workers.handles] != [True, True]:  # the tests before have killed some
        executed(two_workers, lambda unit: time.sleep(0.05))

    def work(unit: Unit) -> int:
        if not note(tmp_path, unit) and unit.number == 2:
            raise MemoryError("no room")
        time.sleep(0.05)
        return unit.start

    assert executed(two_workers, work) == {unit: unit.start for unit in UNITS}
    first, second = sorted(tmp_path.glob("2-*"))
    assert first.name.split("-")[2] != second.name.split("-")[2], "by another process"


def test_memory_that_never_suffices(two_workers: RayExecutor) -> None:
    def work(unit: Unit) -> int:
        if unit.number == 2:
            raise MemoryError("no room")
        return unit.start

    with pytest.raises(UnitsFailed, match="toy, examples 9 to 12; out of memory: no room"):
        executed(two_workers, work)


def test_an_error_of_the_work_is_raised_as_it_is(two_workers: RayExecutor) -> None:
    def work(unit: Unit) -> int:
        if unit.number == 4:
            raise DataProblem("row 17 has no label")
        return unit.start

    with pytest.raises(DataProblem, match="row 17 has no label"):
        executed(two_workers, work)
    assert len(executed(two_workers, lambda unit: 1)) == len(UNITS)


def test_warnings_of_workers_are_given_here(two_workers: RayExecutor) -> None:
    def work(unit: Unit) -> int:
        if unit.number == 4:
            warnings.warn("a text was truncated", HeadcountWarning, stacklevel=1)
        return unit.start

    with pytest.warns(HeadcountWarning, match="a text was truncated"):
        executed(two_workers, work)


def test_other_versions_are_refused(two_workers: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, with both numbers."""
    two_workers.dismiss(two_workers.handles)
    monkeypatch.setitem(two_workers.versions, "torch", "1.0")
    with pytest.raises(
        ClusterProblem, match=r"has different versions \(torch \S+ there, 1\.0 here\); install the same"
    ):
        executed(two_workers, lambda unit: 1)


def test_work_that_does_not_arrive(two_workers: RayExecutor) -> None:
    """Unpacking it ends every worker: said after a few of them, not tried for ever."""

    class Deadly:
        def __reduce__(self) -> Any:
            return os._exit, (1,)

    deadly = Deadly()
    with pytest.raises(ClusterProblem, match="^no worker could be started: "):
        executed(two_workers, lambda unit: str(deadly))


def test_workers_that_do_not_start(two_workers: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(ray_executor.Worker):
        def __init__(self, *_: Any) -> None:
            raise ModuleNotFoundError("No module named 'headcount'")

    two_workers.dismiss(two_workers.handles)
    monkeypatch.setattr(ray_executor, "Worker", Broken)
    with pytest.raises(
        ClusterProblem, match=r"^no worker could be started: ModuleNotFoundError: No module named 'headcount'$"
    ):
        executed(two_workers, lambda unit: 1)
    two_workers.dismiss(two_workers.handles)


def test_closing_ends_the_work(two_workers: RayExecutor, tmp_path: Path) -> None:
    """As Ctrl-C does: nothing goes on in the background."""

    def work(unit: Unit) -> int:
        note(tmp_path, unit)
        time.sleep(0.5)
        return unit.start

    results = two_workers.execute(list(UNITS), work)
    next(results)
    results.close()
    there = len(list(tmp_path.iterdir()))
    time.sleep(1.5)
    assert len(list(tmp_path.iterdir())) <= there + 1 < len(UNITS)


def kill_at_random(executor: RayExecutor, stop: threading.Event, seed: int, pause: float) -> int:
    import random

    chance, kills = random.Random(seed), 0
    while not stop.wait(chance.uniform(0.3, 1) * pause):
        known = [int(handle.place.split("process ")[1].split(",")[0]) for handle in executor.handles if handle.place]
        if known:
            try:
                os.kill(chance.choice(known), signal.SIGKILL)
            except ProcessLookupError:
                continue
            kills += 1
    return kills


@pytest.mark.slow
def test_fifty_random_kills(two_workers: RayExecutor) -> None:
    """Each unit is short beside the time between kills, so that none is hit three times in a row."""

    def work(unit: Unit) -> int:
        time.sleep(0.2)
        return unit.start

    kills, seed = 0, 0
    while kills < 50:
        stop, counted = threading.Event(), []
        thread = threading.Thread(
            target=lambda stop=stop, seed=seed, counted=counted: counted.append(
                kill_at_random(two_workers, stop, seed, 6)
            )
        )
        thread.start()
        try:
            units = [Unit(number, number, number + 1, ("toy",)) for number in range(150)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeadcountWarning)
                found = executed(two_workers, work, units)
            assert found == {unit: unit.start for unit in units}
        finally:
            stop.set()
            thread.join()
        kills, seed = kills + counted[0], seed + 1


def test_units_have_names() -> None:
    assert spell_unit(UNITS[1]) == "toy, examples 5 to 8"
    assert spell_unit(Path("runs/mrpc/seed-0")) == "runs/mrpc/seed-0"
