"""Sinks: memory and folder keep the same, and a folder knows what an earlier process left there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headcount.core.provenance import Origin
from headcount.core.read_study import open_study
from headcount.engines.run import Unit
from headcount.engines.sinks import FolderSink, MemorySink, Sink, open_sinks
from headcount.errors import StudyProblem
from tests.engines.runs import UNITS, make_run, work


def save(sink: Sink, *units: int) -> None:
    for unit in units:
        sink.save(unit, work(Unit(unit, *sink.units[unit], ("toy",)))["toy"])


def test_both_keep_the_same(tmp_path: Path) -> None:
    sinks = [MemorySink(make_run()), FolderSink(make_run(), tmp_path / "study")]
    for sink in sinks:
        save(sink, 2, 0)
        assert sink.done() == [True, False, True]
        assert not sink.complete
    for partial in (False, True):
        memory, folder = (sink.read() for sink in sinks)
        assert set(folder.variables) - set(memory.variables) == {"done"}
        for name, variable in memory.variables.items():
            assert folder[name].dims == variable.dims
            assert folder[name].dtype == variable.dtype, name
            np.testing.assert_array_equal(folder[name].values, variable.values, err_msg=str(name))
        assert set(folder.coords) == set(memory.coords)
        assert {key: value for key, value in folder.attrs.items() if key != "command"} == memory.attrs
        if not partial:
            for sink in sinks:
                save(sink, 1)
                sink.finish({"score": ((), np.asarray(0.5))})
                assert sink.complete


def test_a_folder_remembers_its_units_whatever_would_be_planned_now(tmp_path: Path) -> None:
    """As when a study is begun on a GPU, whose units are larger, and resumed without one."""
    save(FolderSink(make_run(), tmp_path / "study"), 1)
    again = FolderSink(make_run(units=[(0, 5)]), tmp_path / "study")
    assert again.units == UNITS
    assert again.done() == [False, True, False]


def test_other_options_are_refused_and_another_name_is_not(tmp_path: Path) -> None:
    FolderSink(make_run(limit=1), tmp_path / "study")
    with pytest.raises(StudyProblem, match="limit: 1 -> 2") as found:
        FolderSink(make_run(limit=2), tmp_path / "study")
    assert "\n" not in str(found.value)
    FolderSink(make_run("measures/toy@other", limit=2), tmp_path / "study")
    assert set(open_study(tmp_path / "study")["measures"].children) == {"toy", "toy@other"}


@pytest.mark.parametrize("units", [UNITS, ()])
def test_odd_names(tmp_path: Path, units: Any) -> None:
    with pytest.raises(StudyProblem, match="expected letters"):
        FolderSink(make_run("measures/toy@a name", units), tmp_path / "study")


def test_what_is_refused_is_refused_before_anything_is_laid_out(tmp_path: Path) -> None:
    FolderSink(make_run("measures/second", limit=1), tmp_path / "study")
    with pytest.raises(StudyProblem, match="limit: 1 -> 2"):
        open_sinks([make_run("measures/first", limit=2), make_run("measures/second", limit=2)], tmp_path / "study")
    assert set(open_study(tmp_path / "study")["measures"].children) == {"second"}


def test_without_units_nothing_is_there_before_the_end(tmp_path: Path) -> None:
    run = replace(make_run(units=()), arrays={}, fixed={})
    sink = FolderSink(run, tmp_path / "study")
    assert "measures" not in open_study(tmp_path / "study")
    assert not sink.complete
    other = replace(run, group="cost/models", origin=Origin({"model": "cccc"}, {"model": "bert-c"}))
    sink.finish({"score": ((), np.asarray(0.5))})
    assert sink.complete
    assert set(sink.read().variables) == {"score"}
    with pytest.raises(StudyProblem, match="is a study of the model bert-a"):
        FolderSink(other, tmp_path / "study")
