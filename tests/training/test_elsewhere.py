"""A run on a machine without the model's folder: it comes back as if it had been run here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headcount.engines.executors import Done
from headcount.engines.parcel import Shelf, pack
from headcount.errors import StudyProblem, TrainingDiverged
from headcount.training.elsewhere import perform_elsewhere, read_folder
from headcount.training.run_folder import OPTIONS, RESULT, write_json


@dataclass(frozen=True)
class Toy:
    """A run that reads its model's only file."""

    model: str
    folder: Path
    tokenizer: str | None = None
    device: str = "cuda"

    @property
    def identity(self) -> dict[str, Any]:
        return {"model": self.model}


def perform(run: Any, _: None) -> dict[str, Any]:
    assert run.device == "cpu"
    text = (Path(run.model) / "deep" / "weights.bin").read_bytes().decode()
    if text == "bad":
        raise TrainingDiverged(f"the loss of {run.folder} is nan; what was saved before is kept in {run.folder}")
    (run.folder / "model").mkdir(parents=True)
    (run.folder / "model" / "trained.bin").write_text(text.upper())
    result = {"identity": run.identity, "score": 1.0}
    write_json(run.folder / OPTIONS, run.identity)
    write_json(run.folder / RESULT, result)
    return result


class Away:
    """Sends the work as it is sent to a worker, to a machine where the folders of this one are not."""

    elsewhere = True

    def __init__(self, gone: Path) -> None:
        self.gone = gone

    def mine(self, numbers: Any) -> list[int]:
        return list(numbers)

    def execute(self, units: list[Any], work: Callable[[Any], Any]) -> Generator[Done]:
        parcel = pack(work)
        shutil.rmtree(self.gone)
        there = Shelf().unpack(parcel.code, parcel.weights, parcel.weights)
        for unit in units:
            yield Done(unit, there(unit), "elsewhere")


def model_of(folder: Path, text: str) -> Path:
    (folder / "model" / "deep").mkdir(parents=True)
    (folder / "model" / "deep" / "weights.bin").write_text(text)
    return folder / "model"


def test_the_folder_comes_back(tmp_path: Path) -> None:
    model = model_of(tmp_path, "some weights")
    run = Toy(str(model), tmp_path / "runs" / "seed-0")
    [(found, result)] = perform_elsewhere([run], perform, Away(model))
    assert found is run
    assert result["identity"] == run.identity == {"model": str(model)}
    assert (run.folder / "model" / "trained.bin").read_text() == "SOME WEIGHTS"
    assert sorted(path.name for path in run.folder.iterdir()) == ["model", OPTIONS, RESULT]


def test_the_files_of_others_stay(tmp_path: Path) -> None:
    """What an earlier run left is replaced, and nothing else."""
    model = model_of(tmp_path, "some weights")
    run = Toy(str(model), tmp_path / "runs" / "seed-0")
    (run.folder / "model").mkdir(parents=True)
    (run.folder / "model" / "older.bin").touch()
    (run.folder / "notes.txt").write_text("mine")
    list(perform_elsewhere([run], perform, Away(model)))
    assert (run.folder / "notes.txt").read_text() == "mine"
    assert [path.name for path in (run.folder / "model").iterdir()] == ["trained.bin"]


def test_a_folder_with_another_run_is_refused(tmp_path: Path) -> None:
    """Before anything is sent."""
    model = model_of(tmp_path, "some weights")
    run = Toy(str(model), tmp_path / "runs" / "seed-0")
    write_json(run.folder / OPTIONS, {"model": "another one"})
    with pytest.raises(StudyProblem, match="holds a run with other options"):
        list(perform_elsewhere([run], perform, Away(model)))
    assert model.exists()


def test_an_error_names_the_folders_of_this_machine(tmp_path: Path) -> None:
    """And does not promise what stayed on the other one."""
    run = Toy(str(model_of(tmp_path, "bad")), tmp_path / "runs" / "seed-0")
    with pytest.raises(TrainingDiverged) as caught:
        list(perform_elsewhere([run], perform, Away(Path(run.model))))
    assert str(caught.value) == f"the loss of {run.folder} is nan"
    assert not run.folder.exists()


def test_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "objects").touch()
    (tmp_path / "empty").touch()
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    files = read_folder(tmp_path)
    assert sorted(files) == ["a.bin", "empty"]
    assert bytes(files["a.bin"].tolist()) == bytes(range(256))
    assert not len(files["empty"])
