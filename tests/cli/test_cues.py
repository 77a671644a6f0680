"""`headcount cues`: the table and its sentences, JSON, a file, a study, a model."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from headcount.cli.main import main
from tests import planted
from tests.statistical_cues.planted import choices


@pytest.fixture
def data(tmp_path: Path) -> str:
    choices().to_csv(tmp_path / "choices.csv", index=False)
    return str(tmp_path / "choices.csv")


def test_table_sentences_file_and_study(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, file = str(tmp_path / "study"), tmp_path / "cues.csv"
    assert main(["cues", "--data", data, "--choices", "first", "second", "--out", study, "-o", str(file)]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "0.75 [0.65, 0.83]" in next(line for line in shown.splitlines() if "│ not" in line)
    assert "One cue alone" in shown
    rows = pd.read_csv(file)
    assert rows["cue"][0] == "not"
    assert rows["productivity"][0] == 0.75
    assert main(["table", study, "--group", "cues"]) == 0
    assert "cues/multiple-choice,multiple-choice,not," in capsys.readouterr().out


def test_cues_and_labels_are_read_in_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Long names of labels leave room for the cues."""
    assert main(["cues", "--data", "bundled:pairs", "--task", "qnli", "--side", "second", "--no-classifier"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("│ , and") and "not_entailment" in line for line in lines)


def test_json(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cues", "--data", data, "--choices", "first", "second", "--json", "--top", "2"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["cues"][0]["cue"] == "not"
    assert len(said["cues"]) == 2
    assert 0 < said["cues"][0]["q"] < 0.01
    assert said["whole"]["best_cue"] == "not"
    assert said["parts"] == []


def test_with_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted.save(tmp_path / "model")
    planted.texts(60).to_csv(tmp_path / "texts.csv", index=False)
    command = ["cues", "--data", str(tmp_path / "texts.csv"), "--task", "sst2", "--model", str(tmp_path / "model")]
    assert main(command) == 0
    assert "model gets 70.0 %" in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["part"] for row in said["parts"]] == ["all", "cues right", "cues wrong", "no cue"]
    assert said["parts"][3]["model_accuracy"] is None


def test_pieces_of_a_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted.save(tmp_path / "model")
    planted.texts(60).to_csv(tmp_path / "texts.csv", index=False)
    more = ["--tokens", "pieces", "--tokenizer", str(tmp_path / "model"), "--no-classifier", "--no-bigrams"]
    assert main(["cues", "--data", str(tmp_path / "texts.csv"), "--task", "sst2", *more]) == 0
    assert "pieces; applicable where the text has the cue" in " ".join(capsys.readouterr().out.split())
