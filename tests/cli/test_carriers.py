"""`headcount carriers`: the table, its sentences, JSON, a study and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests.measures.planted_decoder import ROLES, planted_decoder


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    model, tokenizer = planted_decoder()
    model.save_pretrained(tmp_path / "decoder")
    tokenizer.save_pretrained(tmp_path / "decoder")
    options = ["--data", "synthetic:repeat,length=8", "--limit", "40", "--top", "2", "--randoms", "2"]
    return ["carriers", str(tmp_path / "decoder"), *options]


def test_table_study_and_page(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, page = str(tmp_path / "study"), tmp_path / "page.html"
    assert main([*command, "--out", study]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert f"│ {ROLES['induction']} " in shown
    assert main(["report", study, "-o", str(page)]) == 0
    assert "heads that score highest in induction" in page.read_text()
    assert main(["table", study, "--group", "carriers"]) == 0
    assert "top_score" in capsys.readouterr().out


def test_json(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["heads"][0]["top_head"] == ROLES["induction"]
    assert len(said["random_sets"]) == 2
