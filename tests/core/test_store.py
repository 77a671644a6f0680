"""A study folder: units, resumption, damage, full disks."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import xarray as xr
import zarr

from headcount.core.store import MARK, ArrayPlan, Group, Study, open_study, read_results
from headcount.errors import CannotWrite, StudyProblem
from tests.core.damage import flip, harm
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


def everything(*_: object) -> bool:
    return True


def full_study(path: Path) -> Path:
    """A complete result of units, an unfinished one, and small ones, also of a deeper name."""
    group = begin(path)
    for unit in range(len(UNITS)):
        write(group, unit)
    group.finish({"score": (("set",), np.array([0.5, np.nan])), "best": ((), np.array("L2", dtype=object))}, {"x": [1]})
    write_result(path, "pruning/curve@prune", {"seed": 1}, SMALL)
    write_result(path, "cost/models", {}, xr.Dataset({"ms": ("row", [1.5, 2.5]), "model": ("row", ["a", "ü"])}))
    Study(path).group("maps/text", {}, {}, {"m": ArrayPlan(("example",), (3,), "int64")}, {}, [(0, 3)])
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return full_study(tmp_path_factory.mktemp("whole") / "study")


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    """A study that a test may damage."""
    shutil.copytree(whole, tmp_path / "study")
    return tmp_path / "study"


def test_read_results_is_what_open_study_gives(whole: Path) -> None:
    path = whole
    found = read_results(path, everything)
    tree = open_study(path)
    expected = {node.path.strip("/"): node for node in tree.subtree if node.path.count("/") == 2}
    assert set(found) == set(expected) == {"sweep/sets-zero", "pruning/curve@prune", "cost/models", "maps/text"}
    for name, (complete, dataset) in found.items():
        assert complete is bool(expected[name].attrs["complete"])
        assert complete is (name != "maps/text")
        other = expected[name].to_dataset().load()
        assert dataset.attrs == other.attrs
        assert set(dataset.variables) == set(other.variables)
        assert set(dataset.coords) == set(other.coords)
        for key in other.variables:
            assert dataset[key].dims == other[key].dims
            np.testing.assert_array_equal(dataset[key].values, other[key].values)
    found["sweep/sets-zero"][1]["logits"].sel(set="L2")


def test_read_results_reads_only_what_is_wanted(copied: Path) -> None:
    path = copied
    asked: list[tuple[str, str, tuple[int, ...]]] = []

    def wanted(result: str, array: str, shape: tuple[int, ...]) -> bool:
        asked.append((result, array, shape))
        return array == "score"

    found = read_results(path, wanted)
    assert ("sweep/sets-zero", "logits", (2, 9)) in asked
    assert ("cost/models", "ms", (2,)) in asked
    assert {name: list(one.variables) for name, (_, one) in found.items()} == {
        "cost/models": [],
        "maps/text": [],
        "pruning/curve@prune": ["score"],
        "sweep/sets-zero": ["score"],
    }
    harm(path / "sweep" / "sets-zero" / "logits" / "c" / "0" / "0", flip(9))
    assert read_results(path, wanted)["sweep/sets-zero"][0], "what is not wanted is not read"


def test_read_results_of_an_empty_study(tmp_path: Path) -> None:
    Study(tmp_path / "study")
    assert read_results(tmp_path / "study", everything) == {}


def test_read_results_in_a_running_loop(whole: Path) -> None:
    """As in a notebook."""

    async def cell() -> Any:
        return read_results(whole, everything)

    found = asyncio.run(cell())
    assert found["sweep/sets-zero"][1]["score"].values[0] == 0.5


def test_read_results_of_a_deeper_name(tmp_path: Path) -> None:
    """`--name a/b` is allowed: its result is a level deeper."""
    write_result(tmp_path / "study", "pruning/curve@a/b", {"seed": 1}, SMALL)
    assert open_study(tmp_path / "study")["pruning/curve@a/b"].attrs["complete"]
    found = read_results(tmp_path / "study", everything)
    assert {name for name, (complete, _) in found.items() if complete} == {"pruning/curve@a/b"}
    assert set(found) == {"pruning/curve@a/b"}


def test_read_results_of_folders_that_are_no_studies(tmp_path: Path) -> None:
    with pytest.raises(StudyProblem, match="there is no study folder"):
        read_results(tmp_path / "none", everything)
    with pytest.raises(StudyProblem, match="is not a study"):
        read_results(tmp_path, everything)
    zarr.open_group(tmp_path / "new", mode="w", zarr_format=3, attributes={MARK: 99})
    with pytest.raises(StudyProblem, match="update headcount"):
        read_results(tmp_path / "new", everything)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        *[
            (place, content)
            for place in ("", "sweep/sets-zero", "sweep/sets-zero/score")
            for content in (b"", b"{", b"[]", b"half", b"\xff\xfe")
        ],
        ("sweep/sets-zero", b"5"),
        ("sweep/sets-zero/score", b"null"),
        pytest.param("", b"5"),
        pytest.param("", b"null"),
        pytest.param("sweep/sets-zero", b'{"attributes": null}'),
    ],
)
def test_read_results_of_damaged_metadata(copied: Path, place: str, content: bytes) -> None:
    path = copied
    damaged = path / place / "zarr.json"
    before = damaged.read_bytes()
    damaged.write_bytes(before[: len(before) // 2] if content == b"half" else content)
    with pytest.raises(StudyProblem) as caught:
        read_results(path, everything)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mark", ["x", [1]])
def test_a_version_that_is_no_number(tmp_path: Path, mark: object) -> None:
    zarr.open_group(tmp_path / "study", mode="w", zarr_format=3, attributes={MARK: mark})
    with pytest.raises(StudyProblem):
        read_results(tmp_path / "study", everything)


@pytest.mark.parametrize("content", [b"", b"garbage" * 9, b"half"], ids=["empty", "garbage", "half"])
@pytest.mark.parametrize("array", ["logits/c/0/1", "texts/c/0/0"])
def test_read_results_of_a_damaged_chunk(copied: Path, array: str, content: bytes) -> None:
    chunk = copied / "sweep" / "sets-zero" / array
    before = chunk.read_bytes()
    chunk.write_bytes(before[: len(before) // 2] if content == b"half" else content)
    with pytest.raises(StudyProblem, match="damaged"):
        read_results(copied, everything)


def test_read_results_of_a_missing_chunk(copied: Path) -> None:
    (copied / "sweep" / "sets-zero" / "logits" / "c" / "0" / "1").unlink()
    with pytest.raises(StudyProblem, match="sweep/sets-zero/logits/c/0/1 is missing"):
        read_results(copied, everything)
