"""The verb `dynamics`: a row for each checkpoint at 80 columns, bad input, and a kill that loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.cli.main import main
from tests.training import toy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dynamics")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data", toy.pairs(32))
    toy.pairs(60, seed=5).to_csv(path / "pairs.csv", index=False)
    hc.finetune(
        path / "model",
        "mrpc",
        path / "data",
        path / "runs",
        settings=replace(toy.QUICK, num_train_epochs=4, checkpoints=2),
    )
    return path


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(place: Path, *more: str, data: str = "pairs.csv") -> list[str]:
    folder = place / "runs" / "mrpc" / "pretrained" / "seed-0"
    return ["dynamics", str(folder), "--task", "mrpc", "--data", str(place / data), *more]


def rows(shown: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if line.startswith("│")]


def test_a_row_for_each_checkpoint(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study"
    assert main(words(place, "--steps", "4", "--study", str(study))) == 0
    shown = capsys.readouterr().out
    found = hc.open_study(study)["pruning/dynamics"].to_dataset()
    lines = rows(shown)
    assert [line[0] for line in lines] == ["0", "8", "16"]
    assert [float(line[1]) for line in lines] == pytest.approx(found["baseline"].values, abs=6e-4)
    assert [float(line[2]) for line in lines] == pytest.approx(found["score"].sel(removed=1).values, abs=6e-4)
    assert lines[-1][-1].startswith("1.00 [")
    assert "25% gone" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("Saved"))
    assert "order of heads" in shown
    assert f"Saved in {study}." in shown
    assert main(words(place, "--steps", "4", "--study", str(study))) == 0
    assert capsys.readouterr().out == shown
    assert main(["table", str(study), "--to", "csv"]) == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"folder": "model"}, "has 0 checkpoints (step-...)"),
        ({"folder": "nowhere"}, "has 0 checkpoints"),
        ({"--task": "nonsense"}, "expected one of"),
        ({"--task": "stsb"}, "needs a model with one"),
        ({"--data": "no/such.csv"}, "there is no file"),
        ({"--limit": "39"}, "got 39 examples; expected at least 40"),
        ({"--label": "stars"}, "no label column 'stars'"),
        pytest.param({"--steps": "0"}, "at least 1"),
        pytest.param({"--device": "cuda:77"}, "not here"),
        pytest.param({"--seed": "-1"}, "seed"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, change: dict[str, str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"--task": "mrpc", "--data": str(place / "pairs.csv"), "--study": str(tmp_path / "study")} | change
    given = options.pop("folder", None)
    folder = place / "runs" / "mrpc" / "pretrained" / "seed-0" if given is None else place / given
    assert main(["dynamics", str(folder), *[word for pair in options.items() for word in pair]]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert not (tmp_path / "study").exists()


def test_killed_it_goes_on(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study"
    toy.pairs(160, seed=6).to_csv(place / "many.csv", index=False)
    command = words(place, "--steps", "2", data="many.csv")
    process = subprocess.Popen(
        [sys.executable, "-m", "headcount.cli.main", *command, "--study", str(study)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not list(study.glob("pruning/importance@step-000008/done/c/*")):
        time.sleep(0.002)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (study / "pruning" / "dynamics").exists()
    assert main([*command, "--study", str(study)]) == 0
    resumed = capsys.readouterr().out
    assert main([*command, "--study", str(tmp_path / "whole")]) == 0
    whole = capsys.readouterr().out
    assert rows(resumed) == rows(whole)
    assert len(rows(whole)) == 3
    first, second = (hc.open_study(one)["pruning/dynamics"] for one in (study, tmp_path / "whole"))
    for name in ("score", "low", "agreement", "importance"):
        np.testing.assert_array_equal(first[name], second[name])
