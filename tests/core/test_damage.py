"""Nothing of a study is lost or changed without a word; the same commands put it right, bit for bit."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.core.damage import damages, describe_damage, examine
from headcount.core.manifest import MARK
from headcount.core.read_study import open_study, read_results
from headcount.core.store import Study
from headcount.core.study_root import list_result
from headcount.errors import HeadcountWarning, StudyProblem
from tests.core.damage import Harm, delete, empty, files, flip, halve, harm, write_all, write_units


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("whole") / "study")


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "study"))


NAMES = sorted(
    ["zarr.json", "sweep/zarr.json", "pruning/zarr.json", "pruning/curve@a/zarr.json", "cost/zarr.json"]
    + [f"cost/models/{one}" for one in ("zarr.json", "ms/zarr.json", "ms/c/0", "done/zarr.json", "done/c/0")]
    + [
        f"pruning/curve@a/b/{one}"
        for one in (
            "zarr.json",
            "score/zarr.json",
            "score/c/0/0",
            "baseline/zarr.json",
            "baseline/c",
            "nothing/zarr.json",
            "heads/zarr.json",
            "heads/c/0/0",
            "order/zarr.json",
            "order/c/0",
            "removed/zarr.json",
            "removed/c/0",
            "done/zarr.json",
            "done/c/0",
        )
    ]
    + [
        f"sweep/sets-zero/{one}"
        for one in (
            "zarr.json",
            "set/zarr.json",
            "set/c/0",
            "score/zarr.json",
            "score/c/0",
            "logits/zarr.json",
            "texts/zarr.json",
            "unknown/zarr.json",
            "done/zarr.json",
        )
    ]
    + [
        f"sweep/sets-zero/{array}/c/{place}{unit}"
        for array, place in (("logits", "0/"), ("texts", "0/"), ("unknown", ""), ("done", ""))
        for unit in range(3)
    ]
)


def test_every_file_is_known(whole: Path) -> None:
    """So that the tests below leave none out; empty chunks are files too."""
    assert sorted(files(whole)) == NAMES
    assert damages(whole) == damages(whole, deep=True) == {}


def look(study: Path) -> None:
    """Reads everything."""
    for node in open_study(study).subtree:
        node.to_dataset().load()


HARMS = (delete, empty, halve, flip(7), flip(1000))


@pytest.mark.parametrize("how", HARMS)
def test_every_damage_is_noticed(copied: Path, how: Harm) -> None:
    for name in NAMES:
        before = (copied / name).read_bytes()
        harm(copied / name, how)
        assert damages(copied, deep=True), name
        (copied / name).write_bytes(before)


@pytest.mark.parametrize("number", range(len(HARMS)))
def test_every_file_is_put_right(copied: Path, number: int) -> None:
    """Each file in one of the ways in which it can be damaged: what is said of it, and what the same command does."""
    before = files(copied)
    for name in NAMES[number :: len(HARMS)]:
        harm(copied / name, HARMS[number])
        for read in (look, lambda study: read_results(study, lambda *_: True)):
            with pytest.raises(StudyProblem) as caught:
                read(copied)
            said = str(caught.value)
            assert name in said, name
            assert "\n" not in said
            assert "headcount " in said, "the command that computes it again"
        with pytest.warns(HeadcountWarning) as warned:
            write_all(copied)
        assert len(warned) == 1, [str(one.message) for one in warned]
        assert files(copied) == before, name


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), bit=st.integers(0, 1 << 20))
def test_every_bit_counts(whole: Path, name: str, bit: int) -> None:
    before = (whole / name).read_bytes()
    harm(whole / name, flip(bit))
    try:
        assert damages(whole, deep=True), (name, bit)
    finally:
        (whole / name).write_bytes(before)


def test_one_result_is_named_with_its_command(copied: Path) -> None:
    (copied / "sweep/sets-zero/logits/c/0/1").unlink()
    assert damages(copied) == {"sweep/sets-zero": ["sweep/sets-zero/logits/c/0/1 is missing"]}
    with pytest.raises(StudyProblem) as caught:
        open_study(copied)
    assert str(caught.value) == (
        f"{copied}: sweep/sets-zero is damaged (sweep/sets-zero/logits/c/0/1 is missing); "
        "compute it again with: headcount sweep A --out study"
    )


def test_a_result_that_was_deleted_is_missed(copied: Path) -> None:
    shutil.rmtree(copied / "pruning")
    with pytest.raises(StudyProblem, match=r"pruning/curve@a/b .* compute it again with: headcount prune A"):
        open_study(copied)
    with pytest.warns(HeadcountWarning, match="pruning/curve@a/b was damaged"):
        write_all(copied)
    look(copied)


def test_many_damages_in_one_line(copied: Path) -> None:
    for name in NAMES:
        if name.endswith("c/0"):
            (copied / name).unlink()
    said = describe_damage(copied, damages(copied))
    assert said.count("is damaged") == 3
    assert "and 1 more files" in said
    assert "\n" not in said


def test_what_is_whole_can_still_be_read(copied: Path) -> None:
    (copied / "sweep/sets-zero/zarr.json").write_text("{")
    tree = open_study(copied, damaged="skip")
    assert [node.path for node in tree.subtree if "complete" in node.attrs] == ["/cost/models", "/pruning/curve@a/b"]
    assert tree["cost/models"]["ms"].values.tolist() == [1.5, 2.5]
    (copied / "zarr.json").unlink()
    assert open_study(copied, damaged="skip")["cost/models"]["ms"].values.tolist() == [1.5, 2.5]


def test_a_result_made_with_other_options_is_not_replaced(copied: Path) -> None:
    for name in ("zarr.json", "logits/c/0/1"):
        study = Path(shutil.copytree(copied, copied.parent / name.replace("/", "-")))
        (study / "sweep/sets-zero" / name).unlink()
        with pytest.raises(StudyProblem, match="made with other options"):
            Study(study).group("sweep/sets-zero", {"seed": 2}, {}, {}, {}, [(0, 1)])
        assert (study / "sweep/sets-zero/logits/c/0/0").exists()


def test_results_of_deeper_names_stay(tmp_path: Path) -> None:
    """`--name a` and `--name a/b`: one lies in the other, and is not its part."""
    study = Study(tmp_path / "study")
    for name in ("pruning/curve@a", "pruning/curve@a/b"):
        study.group(name, {}, {}, {}, {"x": (("n",), np.arange(3))}, [(0, 1)]).finish({}, {})
    (tmp_path / "study/pruning/curve@a/x/c/0").unlink()
    assert list(damages(tmp_path / "study")) == ["pruning/curve@a"]
    with pytest.warns(HeadcountWarning, match="curve@a was damaged"):
        study.group("pruning/curve@a", {}, {}, {}, {"x": (("n",), np.arange(3))}, [(0, 1)]).finish({}, {})
    assert damages(tmp_path / "study", deep=True) == {}
    assert set(open_study(tmp_path / "study")["pruning/curve@a"].children) == {"b"}


def test_units_whose_chunks_are_lost_are_computed_again(tmp_path: Path) -> None:
    assert write_units(tmp_path / "study", complete=False, first=1) == 2
    place = tmp_path / "study/sweep/sets-zero"
    (place / "logits/c/0/1").unlink()
    harm(place / "unknown/c/2", flip(3))
    assert damages(tmp_path / "study") == {}, "it is not complete"
    with pytest.warns(HeadcountWarning, match=r"logits/c/0/1 is missing\); 2 of its parts are computed again"):
        assert write_units(tmp_path / "study") == 3
    write_units(tmp_path / "other")
    assert files(tmp_path / "study") == files(tmp_path / "other")


@pytest.mark.parametrize("how", [empty, halve, flip(3)])
def test_a_unit_whose_mark_is_damaged_is_computed_again(tmp_path: Path, how: Harm) -> None:
    write_units(tmp_path / "study", complete=False)
    harm(tmp_path / "study/sweep/sets-zero/done/c/1", how)
    assert write_units(tmp_path / "study") == 1


@pytest.mark.parametrize("name", ["zarr.json", "set/zarr.json", "set/c/0", "logits/zarr.json"])
def test_an_unfinished_result_that_lost_more_starts_again(tmp_path: Path, name: str) -> None:
    write_units(tmp_path / "study", complete=False)
    (tmp_path / "study/sweep/sets-zero" / name).unlink()
    with pytest.raises(StudyProblem, match=name):
        open_study(tmp_path / "study")
    with pytest.warns(HeadcountWarning, match="computed again"):
        assert write_units(tmp_path / "study") == 3
    look(tmp_path / "study")


def test_killed_before_it_was_listed(copied: Path) -> None:
    """Complete, but not in the study's list yet: it is whole, and the next writer enters it."""
    node = json.loads((copied / "zarr.json").read_text())
    list_result(copied, "sweep/sets-zero", None)
    look(copied)
    assert write_units(copied) == 0
    assert set(json.loads((copied / "zarr.json").read_text())["attributes"]["results"]) == set(
        node["attributes"]["results"]
    )


def old_study(path: Path) -> None:
    """As the first version wrote it: no digests, no checksums, and chunks of nothing but the fill value left out."""
    root = zarr.open_group(path, mode="w", zarr_format=3, attributes={MARK: 1})
    for name, complete in (("spread", True), ("entropy", False)):
        identity = {"seed": 1, "model": "aaaa"}
        group = root.require_group("measures").create_group(
            name, attributes={"identity": identity, "complete": complete, "model": "A"}
        )
        array = group.create_array(
            "values", shape=(9,), chunks=(4,), dtype="float32", dimension_names=("example",), fill_value=float("nan")
        )
        array[0:4] = np.arange(4)
        marks = group.create_array("done", shape=(3,), chunks=(1,), dtype="bool", dimension_names=("unit",))
        marks[0] = True


def test_a_study_of_an_earlier_version(tmp_path: Path) -> None:
    path = tmp_path / "study"
    old_study(path)
    assert damages(path, deep=True) == {}
    assert examine(path, "measures/spread") == []
    values = open_study(path)["measures/spread"]["values"].values
    np.testing.assert_array_equal(values, [0, 1, 2, 3, *[np.nan] * 5])
    assert read_results(path, lambda *_: True)["measures/spread"][1]["values"].values[3] == 3
    before = files(path)

    def entropy() -> None:
        group = Study(path).group("measures/entropy", {"seed": 1, "model": "aaaa"}, {}, {}, {}, [(0, 4)])
        assert group.done() == [True, False, False]
        for unit, (start, stop) in enumerate([(0, 4), (4, 8), (8, 9)]):
            group.write_unit(unit, start, stop, {"values": np.arange(start, stop, dtype="float32")})
        group.finish({"mean": ((), np.array(4.0))}, {})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entropy()
        write_units(path)
    assert damages(path, deep=True) == {}
    tree = open_study(path)
    assert tree["measures/entropy"]["values"].values.tolist() == list(range(9))
    assert tree.attrs["model"]["name"] == "A"
    assert {name: content for name, content in files(path).items() if "spread" in name} == {
        name: content for name, content in before.items() if "spread" in name
    }
    (path / "sweep/sets-zero/score/c/0").unlink()
    with pytest.raises(StudyProblem, match="sweep/sets-zero is damaged"):
        open_study(path)
