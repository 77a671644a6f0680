"""Two writers of one study: one works, the other is told so in one line, and the study is as if there had been one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.core.damage import damages
from headcount.errors import StudyProblem
from tests.contracts.writers import TIMED, TIMES, make_checkpoints, writers
from tests.core.test_lock import other_process

ROOT = Path(__file__).parent.parent.parent
NAMES = [
    "sweep",
    "screened",
    "pairs",
    "raced",
    "measure",
    "compare",
    "maps",
    "probe",
    "cues",
    "cue_heads",
    "classifiers",
    "importance",
    "attribution",
    "gates",
    "roles",
    "carriers",
    "function_vectors",
    "circuit",
    "paths",
    "choose",
    "budget",
    "speed",
    "layer_times",
    "cost",
    "patterns",
    "dynamics",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("writers")
    make_checkpoints(place / "run")
    return place


@pytest.fixture(scope="module")
def processes(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Two that wait for what to write."""
    command = [sys.executable, "-W", "error::UserWarning", "-m", "tests.contracts.writers", str(folder)]
    with ExitStack() as stack:
        found = [
            stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(2)
        ]
        for one in found:
            stack.callback(one.kill)
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        yield found


def test_no_writer_is_left_out(folder: Path) -> None:
    assert sorted(writers(folder)) == sorted(NAMES)


def read(study: Path) -> dict[str, xr.Dataset]:
    tree = hc.open_study(study)
    return {node.path: node.to_dataset().load() for node in tree.subtree if "complete" in node.attrs}


@pytest.mark.parametrize("name", NAMES[:-2])  # the last two are made of others
def test_two_at_once(processes: list[Any], folder: Path, tmp_path: Path, name: str) -> None:
    study = tmp_path / "study"
    for one in processes:
        one.stdin.write(f"{name} {study}\n")
        one.stdin.flush()
    answers = [one.stdout.readline().strip() for one in processes]
    assert "done" in answers, answers
    for other, answer in zip(processes[::-1], answers, strict=True):
        if answer != "done":
            assert answer.startswith(f"refused: {study} is being written by process {other.pid} on host "), answer
            assert "(headcount." in answer, "what it is doing"
    assert [one.name for one in tmp_path.iterdir()] == ["study"]
    assert damages(study, deep=True) == {}
    found = read(study)
    assert all(one.attrs["complete"] for one in found.values())
    writers(folder)[name](tmp_path / "alone")
    expected = read(tmp_path / "alone")
    assert set(found) == set(expected)
    for key, one in found.items():
        if name not in TIMED:
            mine, other = (each.drop_vars(TIMES, errors="ignore") for each in (one, expected[key]))
            xr.testing.assert_equal(mine, other)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_held_by_another_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write = writers(folder)[name]

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("the model was run")

    with other_process(tmp_path / "study"):
        monkeypatch.setattr(torch.nn.Module, "__call__", never)
        with pytest.raises(StudyProblem, match="is being written by process"):
            write(tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_shards_together(processes: list[Any], folder: Path, tmp_path: Path) -> None:
    """A half each: both go through, and the last one to end finishes the result."""
    for one, shard in zip(processes, ("1/2", "2/2"), strict=True):
        one.stdin.write(f"sweep:{shard} {tmp_path / 'study'}\n")
        one.stdin.flush()
    assert [one.stdout.readline().strip() for one in processes] == ["done", "done"]
    writers(folder)["sweep"](tmp_path / "alone")
    found, expected = (read(tmp_path / name)["/sweep/head-zero"] for name in ("study", "alone"))
    assert found.attrs["complete"]
    assert len(found["done"]) > 1, "there is something to share"
    xr.testing.assert_equal(found, expected)
    assert damages(tmp_path / "study", deep=True) == {}
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]
