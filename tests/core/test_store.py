"""A study folder: units, resumption, damage, full disks."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import xarray as xr
import zarr

from headcount.core.group import Group
from headcount.core.manifest import MARK
from headcount.core.read_study import open_study
from headcount.core.results import ArrayPlan
from headcount.core.store import Study
from headcount.errors import CannotWrite, StudyProblem
from tests.study_results import write_result

UNITS = [(0, 4), (4, 8), (8, 9)]


def begin(path: Path, identity: dict[str, object] | None = None) -> Group:
    arrays = {
        "logits": ArrayPlan(("set", "example"), (2, 9), "float32"),
        "texts": ArrayPlan(("set", "example"), (2, 9), "string"),
    }
    fixed = {"set": (("set",), np.array(["L0H1", "L2"], dtype=object))}
    return Study(path).group("sweep/sets-zero", dict(identity or {"seed": 1}), {"how": "zero"}, arrays, fixed, UNITS)


def write(group: Group, unit: int) -> None:
    start, stop = UNITS[unit]
    values = np.arange(2 * (stop - start), dtype="float32").reshape(2, -1) + unit
    group.write_unit(unit, start, stop, {"logits": values, "texts": values.astype(str).astype(object)})


def test_units_are_remembered(tmp_path: Path) -> None:
    write(begin(tmp_path / "study"), 1)
    group = begin(tmp_path / "study")
    assert group.done() == [False, True, False]
    assert np.isnan(group.read()["logits"].values[:, :4]).all()
    for unit in (0, 2):
        write(group, unit)
    group.finish({"score": (("set",), np.array([0.5, 0.6]))}, {"note": "x"})
    node = open_study(tmp_path / "study")["sweep/sets-zero"]
    assert node.attrs["complete"]
    assert node["score"].values.tolist() == [0.5, 0.6]
    assert node["texts"].values[1, 8] == "3.0"


def test_other_options_are_refused(tmp_path: Path) -> None:
    begin(tmp_path / "study")
    with pytest.raises(StudyProblem, match=r"seed: 1 -> 2"):
        begin(tmp_path / "study", {"seed": 2})


def test_a_half_laid_out_group_is_not_there(tmp_path: Path) -> None:
    """Killed while laying out: nothing under the group's name, and the next try succeeds."""
    replace = os.replace  # zarr moves its own files with it, too

    def stopped(source: Any, target: Any) -> None:
        if Path(target).name == "sets-zero":
            raise KeyboardInterrupt
        replace(source, target)

    with mock.patch("os.replace", stopped), pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "study")
    assert not (tmp_path / "study" / "sweep" / "sets-zero").exists()
    assert begin(tmp_path / "study").done() == [False] * 3


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    group = begin(tmp_path / "study")
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        mock.patch.object(zarr.Array, "__setitem__", side_effect=full),
        pytest.raises(CannotWrite, match="no room on the disk"),
    ):
        write(group, 0)
    assert begin(tmp_path / "study").done() == [False] * 3


def test_folders_that_are_no_studies(tmp_path: Path) -> None:
    with pytest.raises(StudyProblem, match="there is no study folder"):
        open_study(tmp_path / "none")
    with pytest.raises(StudyProblem, match="is not a study"):
        open_study(tmp_path)
    zarr.open_group(tmp_path / "other", mode="w", zarr_format=3)
    with pytest.raises(StudyProblem, match="not a study"):
        open_study(tmp_path / "other")
    zarr.open_group(tmp_path / "new", mode="w", zarr_format=3, attributes={MARK: 99})
    with pytest.raises(StudyProblem, match="update headcount"):
        open_study(tmp_path / "new")


def test_a_study_without_results_whose_metadata_is_damaged(tmp_path: Path) -> None:
    Study(tmp_path / "study")
    (tmp_path / "study" / "zarr.json").write_text("{ damaged")
    with pytest.raises(StudyProblem, match="damaged"):
        Study(tmp_path / "study")


SMALL = xr.Dataset(
    {
        "score": (("order", "removed"), np.array([[0.5, np.nan]])),
        "baseline": ((), 0.7),
        "heads": (("order", "rank"), np.array([["L0H1", ""]], dtype=object)),
    },
    coords={"order": ["importance"], "removed": [3, 6], "kept": ("removed", [5, 2])},
    attrs={"task": "sst2", "higher_is_better": True, "examples": 12},
)


def test_a_small_result_as_a_whole(tmp_path: Path) -> None:
    for _ in range(2):  # the second time it is there already
        write_result(tmp_path / "study", "pruning/curve", {"seed": 1}, SMALL)
    node = open_study(tmp_path / "study")["pruning/curve"]
    assert node.attrs["complete"]
    assert node.attrs["task"] == "sst2"
    assert node.attrs["higher_is_better"] is True
    found = node.to_dataset()
    for name in ("score", "baseline", "heads", "kept"):
        np.testing.assert_array_equal(found[name].values, SMALL[name].values)
    assert list(found["order"].values) == ["importance"]
    with pytest.raises(StudyProblem, match="seed: 1 -> 2"):
        write_result(tmp_path / "study", "pruning/curve", {"seed": 2}, SMALL)


def test_a_small_result_that_was_stopped_before_its_mark(tmp_path: Path) -> None:
    with mock.patch.object(Group, "finish", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        write_result(tmp_path / "study", "pruning/curve", {"seed": 1}, SMALL)
    assert not open_study(tmp_path / "study")["pruning/curve"].attrs["complete"]
    write_result(tmp_path / "study", "pruning/curve", {"seed": 1}, SMALL)
    assert open_study(tmp_path / "study")["pruning/curve"].attrs["complete"]
