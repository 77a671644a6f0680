"""Does the recipe for budgets cut, compare and recover a fine-tuned model and a language model, and time its cuts?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recipes.smaller_models import speed, study

from tests.pruning import planted_groups as groups
from tests.recipes import test_seven_tasks as seven

place = seven.place
__all__ = ["place"]


def read_rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "rows.json").read_text())
    return found


def test_a_fine_tuned_model(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for start, split in ((0, "train"), (20, "validation")):
        seven.table("sst2", start, 40).to_parquet(tmp_path / f"{split}.parquet")
    budgets = ["--budgets", "both:60", "heads:90", "--recover", "1", "--epochs", "1"]
    words = [str(place / "model"), "--task", "sst2", "--data", str(tmp_path), "--max-length", "16", *budgets]
    study.main([*words, "--out", str(tmp_path)])
    rows = read_rows(tmp_path)
    assert [(row["what"], row["recovered"]) for row in rows] == [("both", 0), ("both", 1), ("heads", 0), ("heads", 1)]
    for cut, trained in (rows[:2], rows[2:]):
        assert cut["parts"] == trained["parts"]
        assert cut["operations"] == trained["operations"] < 0.95
        assert cut["low"] <= cut["change"] <= cut["high"]
        assert trained["low"] <= trained["change"] <= trained["high"]
        assert cut["score"] - cut["whole"] == pytest.approx(cut["change"])
    capsys.readouterr()
    speed.main([str(place / "model"), str(tmp_path / "rows.json"), "--batch", "1", "--length", "8", "--repeats", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2, "a line for each cut, and none for its recovery"
    assert all(line.endswith("times as fast") for line in lines)


def test_a_language_model(tmp_path: Path) -> None:
    folder = groups.save(tmp_path)
    for seed, name in enumerate(("train", "test")):
        groups.texts(80, seed).to_parquet(folder / f"{name}.parquet")
    small = "--task causal-lm --evaluate test --limit 40 --passages 20 --max-length 8 --what units --operations 70"
    study.main([str(folder / "llama"), "--data", str(folder), *small.split(), "--out", str(tmp_path / "out")])
    (row,) = read_rows(tmp_path / "out")
    assert "H" not in str(row["parts"]), "no heads go"
    assert 0.5 < row["operations"] <= 0.71
