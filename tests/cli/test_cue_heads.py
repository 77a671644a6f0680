"""`headcount cue-heads`: the table and its sentences, JSON, a study and its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests import planted
from tests.statistical_cues import planted_cue


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    planted.save(tmp_path / "model")
    planted_cue.texts().to_csv(tmp_path / "texts.csv", index=False)
    cues = ["--cue", *planted_cue.CUES, "--randoms", "2"]
    return ["cue-heads", str(tmp_path / "model"), "--data", str(tmp_path / "texts.csv"), "--task", "sst2", *cues]


def test_table_study_and_page(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, page = str(tmp_path / "study"), tmp_path / "page.html"
    assert main([*command, "--out", study]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "-3.96" in next(line for line in shown.splitlines() if "│ L0H1" in line)
    assert main(["report", study, "-o", str(page)]) == 0
    html = page.read_text()
    assert "Change of reliance on cues without it" in html
    assert "relies on cues" in html
    assert main(["table", study, "--group", "cue_heads"]) == 0
    assert "cue_effect" in capsys.readouterr().out


def test_json(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["cues"] == planted_cue.CUES
    assert len(said["heads"]) == 4
    assert [row["removed"] for row in said["removed"]] == [1, 2]
    assert said["whole"]["right_examples"] == 120
