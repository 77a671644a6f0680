"""The ledger: killed and resumed as if uninterrupted, in memory as in a folder, in shards as in one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headcount.core.read_study import open_study
from headcount.engines.executors import Shard
from headcount.engines.ledger import Ledger, announce, perform
from headcount.engines.run import Arrays, Unit
from headcount.errors import StudyProblem
from tests.engines.runs import IDS, SIZES, make_run, work


@pytest.fixture(scope="module")
def expected() -> xr.Dataset:
    return Ledger([make_run()]).perform(work)[0]


def alike(found: xr.Dataset, expected: xr.Dataset) -> None:
    xr.testing.assert_equal(found.drop_vars("done", errors="ignore"), expected)


def test_the_result_is_in_the_order_of_the_ids(expected: xr.Dataset) -> None:
    assert expected["example"].values.tolist() == [0, 3, 5, 7, 12]
    for row, number in enumerate(IDS):
        np.testing.assert_array_equal(expected["sizes"].sel(example=number), SIZES[row])
    np.testing.assert_array_equal(expected["ends"], SIZES[[1, 2]], "the summary sees them in this order, too")
    assert expected["said"].item() == "b"
    assert expected.attrs["complete"] is True


def test_killed_at_any_moment_and_resumed(tmp_path: Path, expected: xr.Dataset) -> None:
    for last in range(3):
        study = tmp_path / str(last)
        seen: list[int] = []

        def stop(unit: Unit, last: int = last, seen: list[int] = seen) -> dict[str, Arrays]:
            if unit.number == last:
                raise KeyboardInterrupt
            seen.append(unit.number)
            return work(unit)

        with pytest.raises(KeyboardInterrupt):
            Ledger([make_run()], study).perform(stop)

        def rest(unit: Unit, seen: list[int] = seen) -> dict[str, Arrays]:
            assert unit.number not in seen
            return work(unit)

        told: list[Any] = []
        ledger = Ledger([make_run()], study, progress=lambda *at, told=told: told.append(at))
        alike(ledger.perform(rest)[0], expected)
        assert told[0] == (2 * last, 5)
        assert told[-1] == (5, 5)
        alike(open_study(study)["measures/toy"].to_dataset().sortby("example"), expected)


def test_killed_before_the_summary(tmp_path: Path, expected: xr.Dataset) -> None:
    def stop(_: Arrays) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Ledger([replace(make_run(), finish=stop)], tmp_path / "study").perform(work)
    alike(Ledger([make_run()], tmp_path / "study").perform(never)[0], expected)
    alike(Ledger([replace(make_run(), finish=stop)], tmp_path / "study").perform(never)[0], expected)


def never(_: Any) -> Any:
    raise AssertionError("all is done already")


def test_shards_are_the_whole(tmp_path: Path, expected: xr.Dataset) -> None:
    first = Ledger([make_run()], tmp_path / "study", Shard(1, 2)).perform(work)[0]
    assert not first.attrs["complete"]
    assert "ends" not in first
    assert np.isnan(first["sizes"].sel(example=[3, 12])).all()
    alike(Ledger([make_run()], tmp_path / "study", Shard(2, 2)).perform(work)[0], expected)


def test_several_runs_share_their_units(tmp_path: Path, expected: xr.Dataset) -> None:
    """Only those that lack a unit are worked on."""
    Ledger([make_run("measures/one")], tmp_path / "study", Shard(1, 2)).perform(work)
    asked: list[tuple[int, tuple[str, ...]]] = []

    def noted(unit: Unit) -> dict[str, Arrays]:
        asked.append((unit.number, unit.groups))
        return work(unit)

    runs = [make_run("measures/two"), make_run("measures/one")]
    for found in Ledger(runs, tmp_path / "study").perform(noted):
        alike(found, expected)
    both = ("measures/one", "measures/two")
    assert asked == [(0, both[1:]), (1, both), (2, both[1:])]


def test_runs_of_unlike_units(tmp_path: Path, expected: xr.Dataset) -> None:
    """One was begun where units are larger: each goes on with its own."""
    Ledger([make_run("measures/one", units=[(0, 3), (3, 5)])], tmp_path / "study", Shard(2, 2)).perform(work)
    told: list[Any] = []
    runs = [make_run("measures/one"), make_run("measures/two")]
    ledger = Ledger(runs, tmp_path / "study", progress=lambda *at: told.append(at))
    for found in ledger.perform(work):
        alike(found, expected)
    assert ledger.units == [(0, 3), (3, 5)]
    assert (told[0], told[-1]) == ((2, 10), (10, 10))


def test_a_run_without_units_is_computed_once(tmp_path: Path) -> None:
    calls: list[int] = []

    def finish(_: Arrays) -> Any:
        calls.append(1)
        return {"score": (("head",), np.arange(3.0))}

    run = replace(make_run(units=()), arrays={}, fixed={}, finish=finish)
    memory = perform(run)
    for _ in range(2):
        xr.testing.assert_equal(perform(run, tmp_path / "study"), memory)
    assert len(calls) == 2, "once in memory, once in the study"


def test_models_that_are_not_the_study_s_are_refused_beforehand(tmp_path: Path) -> None:
    Ledger([make_run()], tmp_path / "study").perform(work)
    announce("pruning/dynamics", {"first": "aaaa", "second": "cccc"}, tmp_path / "study")
    with pytest.raises(StudyProblem, match="is a study of the model bert-a"):
        announce("pruning/dynamics", {"first": "bbbb", "second": "cccc"}, tmp_path / "study")


def test_the_work_of_a_round_may_depend_on_earlier_ones(tmp_path: Path, expected: xr.Dataset) -> None:
    """Killed before the last round and resumed: each round sees what those before it have saved, by ids."""
    seen: dict[int, Any] = {}

    def work_of(number: int, saved: Any, stop: int | None = None) -> Any:
        if number == stop:
            raise KeyboardInterrupt
        seen[number] = saved()["sizes"]
        return work

    with pytest.raises(KeyboardInterrupt):
        Ledger([make_run()], tmp_path / "study").perform_rounds([1, 3], lambda n, saved: work_of(n, saved, 1))
    assert list(seen) == [0]
    assert np.isnan(seen.pop(0)).all()
    alike(Ledger([make_run()], tmp_path / "study").perform_rounds([1, 3], work_of), expected)
    assert list(seen) == [1], "what is done is not asked for again"
    known = np.isfinite(seen[1]).all(-1) if seen[1].ndim > 1 else np.isfinite(seen[1])
    assert sorted(np.array(sorted(IDS))[known]) == sorted(IDS[:2])
