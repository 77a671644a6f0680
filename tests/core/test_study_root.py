"""What a study says of itself: its list, its model, and what is restored where that is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr

from headcount.core.damage import damages
from headcount.core.manifest import read_root
from headcount.core.read_study import open_study
from headcount.core.store import Study
from headcount.core.study_root import check_root, is_restorable, list_result, restore_root
from headcount.errors import HeadcountWarning, StudyProblem
from tests.core.damage import files, write_all
from tests.study_results import write_result

RESULT = xr.Dataset({"x": ("n", [1.0, 2.0])}, attrs={"model": "bert-a"})


def test_a_study_lists_its_complete_results(tmp_path: Path) -> None:
    study = write_all(tmp_path / "study")
    said = read_root(study)
    assert sorted(said["results"]) == ["cost/models", "pruning/curve@a/b", "sweep/sets-zero"]
    assert said["results"]["sweep/sets-zero"]["command"] == "headcount sweep A --out study"
    assert said["model"]["fingerprint"] == "aaaa"
    Study(study).group("maps/x", {}, {}, {}, {}, [(0, 1)])
    assert "maps/x" not in read_root(study)["results"], "it is not complete"


def test_what_is_lost_is_restored_from_the_results(tmp_path: Path) -> None:
    study = write_all(tmp_path / "study")
    before = files(study)
    (study / "zarr.json").unlink()
    with pytest.raises(StudyProblem, match=r"a command that writes into it restores it, such as headcount "):
        check_root(study)
    with pytest.warns(HeadcountWarning, match=r"zarr.json is missing; it was restored"):
        restore_root(study)
    assert files(study) == before


def test_a_damaged_result_is_not_listed_again(tmp_path: Path) -> None:
    study = write_all(tmp_path / "study")
    (study / "zarr.json").write_text("")
    (study / "cost/models/ms/c/0").unlink()
    with pytest.warns(HeadcountWarning, match="restored"):
        Study(study)
    assert "cost/models" not in read_root(study)["results"]
    assert list(damages(study)) == ["cost/models"]


def test_a_folder_of_somebody_else_is_never_taken_for_a_study(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "zarr.json").write_text("{")
    (tmp_path / "notes" / "thesis.txt").write_text("x")
    assert not is_restorable(tmp_path / "notes")
    restore_root(tmp_path / "notes")
    with pytest.raises(StudyProblem):
        Study(tmp_path / "notes")
    assert sorted(files(tmp_path / "notes")) == ["thesis.txt", "zarr.json"]


def test_another_model_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "study"
    write_result(path, "sweep/head-zero", {"model": "aaaaaaaaaa"}, RESULT)
    before = files(path)
    with pytest.raises(
        StudyProblem, match=r"study is a study of the model bert-a \[aaaaaaaa\], this result is of bert-b"
    ):
        write_result(path, "measures/spread", {"model": "bbbbbbbbbb"}, RESULT.assign_attrs(model="bert-b"))
    assert files(path) == before
    assert open_study(path).attrs["model"]["name"] == "bert-a"


def test_a_model_that_was_announced_and_never_came(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.announce("cost/models", {"models": {"bert-a": "aaaa"}}, {})
    write_result(tmp_path / "study", "measures/spread", {"model": "bbbb"}, RESULT.assign_attrs(model="bert-b"))
    with pytest.raises(StudyProblem, match="is a study of the model bert-b"):
        study.announce("cost/models", {"models": {"bert-a": "aaaa"}}, {})
    study.announce("cost/models", {"models": {"bert-a": "aaaa", "bert-b": "bbbb"}}, {})


def test_a_result_can_be_struck(tmp_path: Path) -> None:
    study = write_all(tmp_path / "study")
    list_result(study, "cost/models", None)
    assert "cost/models" not in read_root(study)["results"]
