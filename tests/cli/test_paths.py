"""`headcount paths`: the table, its sentences, JSON, the circuit of a study, a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests.choosing.planted_pair import saved_command


def test_the_circuit_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, page, words = str(tmp_path / "study"), tmp_path / "page.html", saved_command(tmp_path)
    assert main(["circuit", *words, "--how", "zero", "--randoms", "1", "--out", study]) == 0
    capsys.readouterr()
    assert main(["paths", *words, "--among", study, "--how", "zero", "--out", study]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 80
    assert "4 paths tested on 80 examples" in " ".join(shown.split())
    assert main(["report", study, "-o", str(page)]) == 0
    assert "4 paths tested on 80 examples" in page.read_text()
    capsys.readouterr()
    assert main(["table", study, "--group", "paths"]) == 0
    assert "receiver" in capsys.readouterr().out


def test_json_and_a_folder_without_a_circuit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, words = str(tmp_path / "study"), saved_command(tmp_path)
    options = ["--into", "key", "--how", "zero", "--json", "--out", study]
    assert main(["paths", *words, "--among", "L0H0,L1H1", *options]) == 0
    (path,) = json.loads(capsys.readouterr().out)["paths"]
    assert (path["sender"], path["receiver"], path["into"]) == ("L0H0", "L1H1", "key")
    assert main(["paths", *words, "--among", study, "--how", "zero"]) == 2
    assert "has no circuit; run headcount circuit" in capsys.readouterr().err
