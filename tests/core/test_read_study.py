"""Reading a study: many arrays at once are what `open_study` gives, and damage is an error that names the study."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from headcount.core.manifest import MARK
from headcount.core.read_study import open_study, read_results, study_path
from headcount.core.results import ArrayPlan
from headcount.core.store import Study
from headcount.errors import InvalidOption, StudyProblem
from tests.core.damage import SMALL, flip, harm, write_units
from tests.study_results import write_result


def everything(*_: object) -> bool:
    return True


def full_study(path: Path) -> Path:
    """A complete result of units, an unfinished one, and small ones, also of a deeper name."""
    write_units(path)
    write_result(path, "pruning/curve@prune", {"model": "aaaa"}, SMALL)
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
    write_result(tmp_path / "study", "pruning/curve@a/b", {"model": "aaaa"}, SMALL)
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


def test_a_tree_that_is_no_study_has_no_folder(whole: Path) -> None:
    assert study_path(open_study(whole)) == whole
    with pytest.raises(InvalidOption, match="open_study did not open"):
        study_path(xr.DataTree())
