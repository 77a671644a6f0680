"""`headcount adversarial`: the twins in a file, what is said about them, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from headcount.cli.main import main
from tests import planted
from tests.statistical_cues import cue_model
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


def test_scores_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The twins are made and scored, or were made before: the same numbers."""
    cue_model.follows_good().save_pretrained(tmp_path / "model")
    planted.tokenizer(tmp_path / "model").save_pretrained(tmp_path / "model")
    table = cue_model.arguments(40, 10)
    table.to_csv(tmp_path / "data.csv", index=False)
    cue_model.negations(table).to_csv(tmp_path / "claims.csv", index=False)
    data = ["adversarial", "--choices", "first", "second", "--data"]
    make = ["--negations", str(tmp_path / "claims.csv"), "-o", str(tmp_path / "twins.csv")]
    more = ["--model", str(tmp_path / "model"), "--text", "claim"]
    assert main([*data, str(tmp_path / "data.csv"), *make, *more]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "40 original, 40 negated examples." in said
    assert "gets 75.0 % [59.8, 85.8] of 40 originals right and 25.0 % [14.2, 40.2] of their twins." in said
    assert "predicts the same choice for both in 100.0 % [91.2, 100.0]." in said
    assert main([*data, str(tmp_path / "twins.csv"), *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["scores"]
    assert found["scores"]["adversarial"]["accuracy"] == 0.25
    assert (found["scores"]["change"], found["scores"]["both_right"]) == (-0.5, 0)
