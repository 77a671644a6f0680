"""The verb `gates`: a row for each price; the needed head stays open longest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests import planted
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    parts.classifier(parts.NEEDED, parts.STEEP, loud=3).save_pretrained(path / "needed")
    planted.tokenizer(path / "needed").save_pretrained(path / "needed")
    parts.texts(40).to_csv(path / "texts.csv", index=False)
    return path


def words(folder: Path, *more: str) -> list[str]:
    return ["gates", str(folder / "needed"), "--task", "sst2", "--data", str(folder / "texts.csv"), *more]


def test_the_needed_head_stays_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--price", "0.05,0.1", "--max-steps", "120", "--per-device-train-batch-size", "16"]
    assert main(words(folder, *more)) == 0
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["0.05", "0.1"]
    assert all("L0H1" in row[3] for row in rows)
    assert int(rows[-1][1]) < 8


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--price", "0", "--max-steps", "1", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 8
    assert {"gate", "open", "log_a"} <= set(rows[0])


def test_a_study_keeps_them(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(folder, "--price", "0.1", "--max-steps", "2", "--out", str(tmp_path / "study"))
    assert main(command) == 0
    first = capsys.readouterr().out
    assert f"Saved in {tmp_path / 'study'}" in first
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert main(["table", str(tmp_path / "study"), "--group", "pruning/gates"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "result,stack,layer,head,openness"


def test_prices_that_are_no_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--price", "cheap")) == 2
    assert "got --price cheap; expected numbers" in capsys.readouterr().err
