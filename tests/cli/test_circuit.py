"""`headcount circuit`: the table, its sentences, JSON, a study and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests.choosing.planted_pair import saved_command


def test_study_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, page = str(tmp_path / "study"), tmp_path / "page.html"
    assert main(["circuit", *saved_command(tmp_path), "--how", "zero", "--randoms", "2", "--out", study]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "│ L1H1 " in shown
    assert main(["report", study, "-o", str(page)]) == 0
    text = page.read_text()
    assert "The circuit has 2 of 4 heads" in text
    assert "Head of the circuit" in text
    capsys.readouterr()
    assert main(["table", study, "--group", "circuit"]) == 0
    assert "random_faithfulness" in capsys.readouterr().out


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = saved_command(tmp_path)
    assert main(["circuit", *words, "--how", "zero", "--keep", "1", "--randoms", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["heads"]) == 1
    assert len(said["random_sets"]) == 1
