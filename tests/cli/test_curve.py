"""The verb `curve`: a row for each step, a column for each order; as JSON, in a study, and what Python gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests import planted
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    parts.classifier(parts.GRADED).save_pretrained(path / "graded")
    planted.tokenizer(path / "graded").save_pretrained(path / "graded")
    parts.texts(60).to_csv(path / "texts.csv", index=False)
    return path


def words(folder: Path, *more: str) -> list[str]:
    given = [str(folder / "graded"), "--task", "sst2", "--data", str(folder / "texts.csv")]
    return ["curve", *given, "--steps", "2", "--randoms", "1", *more]


def test_a_table_and_a_study(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--out", str(tmp_path / "study"))) == 0
    shown = capsys.readouterr().out
    assert "Heads left" in shown
    assert "importance" in shown
    assert {"curve", "importance"} <= set(hc.open_study(tmp_path / "study")["pruning"].children)


def test_python_gives_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One half of the examples orders the heads, the other scores them."""
    assert main(words(folder, "--json")) == 0
    rows = json.loads(capsys.readouterr().out)
    model, tokenizer = hc.load(folder / "graded")
    data = str(folder / "texts.csv")
    curves = hc.curve(model, tokenizer, data, task="sst2", steps=2, randoms=1)
    assert curves.attrs["examples"] == 30
    scores = {(row["order"], row["removed"]): row["score"] for row in rows}
    assert scores == {
        (str(order), int(count)): pytest.approx(float(curves["score"].sel(order=order, removed=count)))
        for order in curves["order"].values
        for count in curves["removed"].values
    }
    choice = hc.choose(model, tokenizer, data, task="sst2", keep=4, steps=2, randoms=1)
    assert (choice.held_out["score"].values == curves["score"].values).all()
