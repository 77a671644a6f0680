"""`headcount circuit` and `headcount paths`: tables, JSON, a study, its page and its paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests import planted
from tests.choosing import planted_pair


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    planted_pair.classifier().save_pretrained(tmp_path / "model")
    planted.tokenizer(tmp_path / "model").save_pretrained(tmp_path / "model")
    planted_pair.texts(80).to_csv(tmp_path / "texts.csv", index=False)
    return [str(tmp_path / "model"), "--data", str(tmp_path / "texts.csv"), "--task", "sst2"]


def test_study_page_and_paths(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, page = str(tmp_path / "study"), tmp_path / "page.html"
    assert main(["circuit", *words, "--how", "zero", "--randoms", "2", "--out", study]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "│ L1H1 " in shown
    assert main(["paths", *words, "--among", study, "--how", "zero", "--out", study]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "4 paths tested on 80 examples" in " ".join(shown.split())
    assert main(["report", study, "-o", str(page)]) == 0
    text = page.read_text()
    assert "The circuit has 2 of 4 heads" in text
    assert "Head of the circuit" in text
    capsys.readouterr()
    for group, column in (("circuit", "random_faithfulness"), ("paths", "receiver")):
        assert main(["table", study, "--group", group]) == 0
        assert column in capsys.readouterr().out


def test_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["circuit", *words, "--how", "zero", "--keep", "1", "--randoms", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["heads"]) == 1
    assert len(said["random_sets"]) == 1
    assert main(["paths", *words, "--among", "L0H0,L1H1", "--into", "key", "--how", "zero", "--json"]) == 0
    (path,) = json.loads(capsys.readouterr().out)["paths"]
    assert (path["sender"], path["receiver"], path["into"]) == ("L0H0", "L1H1", "key")
