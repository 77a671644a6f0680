"""The verb `finetune`: a table and runs.csv, one line for bad input, and a kill that loses nothing."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import headcount as hc
from headcount.cli.main import main
from tests.training import toy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data" / "MRPC", toy.pairs(32))
    toy.save_splits(path / "data" / "SST-2", toy.pairs(16).rename(columns={"sentence2": "sentence"}))
    toy.save_splits(path / "tags", toy.tagged(16))
    toy.pairs(8).to_csv(path / "train.csv", index=False)
    return path


def words(place: Path, *more: str) -> list[str]:
    options = {
        "--tasks": "mrpc",
        "--data": str(place / "data"),
        "--per-device-train-batch-size": "8",
        "--num-train-epochs": "1",
        "--learning-rate": "1e-3",
    }
    for option, value in itertools.pairwise(more):
        if option in options:
            options[option] = value
    rest = [more[at] for at in range(len(more)) if more[at] not in options and (at == 0 or more[at - 1] not in options)]
    return ["finetune", str(place / "model"), *[word for pair in options.items() for word in pair], *rest]


def test_the_table_and_the_files(place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs"
    command = words(
        place,
        "--tasks",
        "mrpc,sst2",
        "--init",
        "none, pretrained",
        "--seeds",
        "2",
        "--out",
        str(out),
        "--checkpoints",
        "2",
    )
    assert main(command) == 0
    captured = capfd.readouterr()
    rows = [line.split("│") for line in captured.out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[1:4]] for row in rows] == [
        ["mrpc", "none", "f1"],
        ["mrpc", "pretrained", "f1"],
        ["sst2", "none", "accuracy"],
        ["sst2", "pretrained", "accuracy"],
    ]
    table = pd.read_csv(out / "runs.csv")
    assert len(table) == 8
    median = table.query("task == 'mrpc' and init == 'none'")["score"].median()
    assert float(rows[0][4]) == pytest.approx(median, abs=6e-4)
    assert rows[0][7].strip() == "2"
    assert "runs.csv" in captured.out
    model, _ = hc.load(out / "sst2" / "pretrained" / "seed-1" / "model")
    assert model.config.id2label == {0: "negative", 1: "positive"}
    steps = out / "mrpc" / "pretrained" / "seed-0" / "checkpoints"
    assert sorted(one.name for one in steps.iterdir()) == ["step-000000", "step-000002", "step-000004"]
    assert main(command) == 0
    assert capfd.readouterr().out == captured.out, "the same command shows the same table"
    assert main([*command, "--max-length", "20"]) == 2
    assert "max_length: 128 -> 20" in capfd.readouterr().err


def test_other_columns(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = toy.pairs(16).rename(columns={"sentence1": "left", "sentence2": "right", "label": "kind"})
    toy.save_splits(tmp_path / "data", table.assign(kind=table["kind"].map({0: "no", 1: "yes"})))
    command = words(
        place,
        "--tasks",
        "classification",
        "--data",
        str(tmp_path / "data"),
        "--text",
        "left",
        "right",
        "--label",
        "kind",
        "--init",
        "random",
        "--keep-embeddings",
        "--out",
        str(tmp_path / "runs"),
    )
    assert main(command) == 0
    model, _ = hc.load(tmp_path / "runs" / "classification" / "random" / "seed-0" / "model")
    assert model.config.id2label == {0: "no", 1: "yes"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--tasks", "nonsense"], "expected one of"),
        (["--tasks", "multiple-choice"], "text columns"),
        (["--tasks", "stsb"], "no train file"),
        (["--data", "no/such"], "there is no folder"),
        (["--init", "warm"], "'warm'"),
        (["--seeds", "0"], "got --seeds 0"),
        (["--jobs", "0"], "got --jobs 0"),
        (["--per-device-train-batch-size", "0"], "--per-device-train-batch-size 0"),
        (["--num-train-epochs", "0"], "--num-train-epochs 0"),
        (["--learning-rate", "-1"], "--learning-rate -1"),
        (["--dtype", "int8"], "int8"),
        (["--spacing", "wide"], "wide"),
        (["--checkpoints", "-1"], "--checkpoints -1"),
        (["--label", "stars"], "no label column 'stars'"),
        (["--text", "left", "right"], "no column left and right"),
        (["--nonsense", "1"], "--nonsense"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(place, *more, "--out", str(tmp_path / "runs"))) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert expected in captured.err


def test_a_training_that_diverges(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No model, one line, exit code 1: the input was good, the training was not."""
    assert (
        main(words(place, "--learning-rate", "1e30", "--num-train-epochs", "3", "--out", str(tmp_path / "runs"))) == 1
    )
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1, captured.err
    assert "lower the learning rate, now 1e+30" in captured.err
    assert not list((tmp_path / "runs").rglob("model"))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--device", "cuda:77"], "cuda:77"),
        (["--device", "nonsense"], "nonsense"),
        (["--max-length", "-4"], "got --max-length -4"),
        (["--warmup-steps", "-1"], "got --warmup-steps -1"),
        (["--report-to", "nonsense"], "nonsense"),
    ],
)
def test_bad_input_that_ends_in_a_traceback(
    place: Path, tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words(place, *more, "--out", str(tmp_path / "runs"))) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert expected in captured.err


def test_tags_of_texts_that_are_cut(place: Path, tmp_path: Path) -> None:
    more = ["--tasks", "token-classification", "--data", str(place / "tags"), "--max-length", "8"]
    assert main(words(place, *more, "--out", str(tmp_path / "runs"))) == 0


def test_a_model_that_is_not_there(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(place, "--out", str(tmp_path))
    command[1] = str(tmp_path / "nowhere")
    assert main(command) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_out_is_a_file(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(words(place, "--out", str(tmp_path / "file"))) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "cannot write" in captured.err


@pytest.fixture(scope="module")
def process(place: Path, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    command = words(place, "--out", str(tmp_path_factory.mktemp("process")), "--checkpoints", "1")
    return subprocess.run(
        [sys.executable, "-m", "headcount.cli.main", *command],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "COLUMNS": "200"},
    )


def test_as_a_process(process: subprocess.CompletedProcess[str]) -> None:
    """The table and the next step, no reports of the Trainer."""
    assert process.returncode == 0, process.stderr
    assert "loss" not in process.stdout
    assert "mrpc" in process.stdout
    assert "Runs and models are in" in process.stdout


def test_nothing_goes_to_stderr(process: subprocess.CompletedProcess[str]) -> None:
    assert process.stderr == ""
