"""The verb `function-vectors`: a table at 80 columns, sentences, JSON, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests.choosing import planted_vectors


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted_vectors.save(path / "model")
    planted_vectors.prompts().to_csv(path / "prompts.csv", index=False)
    return path


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(place: Path, *more: str) -> list[str]:
    repeated = ("--repeated", "synthetic:repeat,length=6", "--texts", "8")
    prompts = ("--data", str(place / "prompts.csv"), "--task", "completion")
    return ["function-vectors", str(place / "model"), *prompts, *repeated, *more]


def test_a_table_of_eighty_columns_and_a_study(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study"
    assert main(words(place, "--out", str(study))) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(len(line) for line in lines if "Saved in" not in line) <= 80
    assert next(line for line in lines if line.startswith("│")).startswith("│ L1H0 │")
    said = " ".join(shown.split())
    assert "raise it significantly (q < 0.05, 8 heads tested): L1H0" in said
    assert "function-vector heads are among the 1 induction heads" in said
    assert "function_vectors" in hc.open_study(study).children
    assert main(words(place, "--out", str(study))) == 0
    assert capsys.readouterr().out == shown


def test_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["heads"]) == 8
    assert {row["task"] for row in found["tasks"]} == {"one", "two"}
    assert found["whole"]["correlation_low"] <= found["whole"]["correlation"] <= found["whole"]["correlation_high"]
