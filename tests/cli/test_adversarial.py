"""`headcount adversarial`: the twins in a file, what is said about them, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from headcount.cli.main import main
from tests.statistical_cues.planted import choices


def test_negations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = choices(40, 20, 15)
    table.to_csv(tmp_path / "data.csv", index=False)
    pairs = pd.DataFrame({"original": table["claim"], "negated": "no " + table["claim"]})
    pairs.to_csv(tmp_path / "claims.csv", index=False)
    command = ["adversarial", "--data", str(tmp_path / "data.csv"), "--choices", "first", "second"]
    more = ["--negations", str(tmp_path / "claims.csv"), "-o", str(tmp_path / "twins.csv")]
    assert main([*command, *more]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "40 original, 40 negated examples." in said
    assert "words and bigrams are at chance: a productivity of exactly 1/2." in said
    assert len(pd.read_csv(tmp_path / "twins.csv")) == 80
    assert main([*command, "--swap", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == {"original": 40, "swapped": 40}
    assert said["off_chance"] > 0
