"""The verb `attribution`, and `sweep --how patch --screen attribution`: tables, sentences, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    table = planted.texts(40)
    flipped = {"good": "bad", "bad": "good"}
    table["counterpart"] = [" ".join(flipped.get(word, word) for word in text.split()) for text in table["sentence"]]
    table.to_csv(path / "texts.csv", index=False)
    return path


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words(place: Path, *more: str, verb: str = "attribution") -> list[str]:
    return [verb, str(place / "model"), "--task", "sst2", "--data", str(place / "texts.csv"), *more]


def test_a_table_of_eighty_columns(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for direction, ran in (("denoise", "corrupted"), ("noise", "clean")):
        assert main(words(place, "--direction", direction, "--out", str(tmp_path / "study"))) == 0
        shown = capsys.readouterr().out
        lines, said = shown.splitlines(), " ".join(shown.split())
        assert max(len(line) for line in lines if "Saved in" not in line) <= 80
        assert next(line for line in lines if line.startswith("│")).startswith("│ L0H0 │"), "it carries the label"
        assert f"Expected change on the {ran} input" in said
        assert "which fails for saturated heads" in said
    assert len(hc.open_study(tmp_path / "study")["patching"].children) == 2


def test_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--json")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 4
    assert {"attribution", "attribution_low", "attribution_high"} <= set(rows[0])


def test_the_screen_of_exact_patching(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    screening = ("--how", "patch", "--screen", "attribution", "--top", "1", "--control", "3")
    assert main(words(place, *screening, "--out", str(tmp_path / "study"), verb="sweep")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 of 4 heads were run because they rank highest by attribution, and 3 others" in said
    assert "Rank correlation of attribution and exact patching" in said
    assert "Attribution is off by more than half" in said


def test_a_screen_of_something_else(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(place, "--screen", "attribution", "--top", "1", verb="sweep")) == 2
    assert "--how patch" in capsys.readouterr().err
