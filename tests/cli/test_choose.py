"""The verb `choose`: which heads can go, on the screen and as JSON, and nothing is cut."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headcount as hc
from headcount.cli.choose import next_try
from headcount.cli.main import main
from headcount.core.claims import Cut
from tests import planted
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    parts.classifier(parts.NEEDED, parts.STEEP).save_pretrained(path / "needed")
    planted.tokenizer(path / "needed").save_pretrained(path / "needed")
    parts.texts(80).to_csv(path / "texts.csv", index=False)
    return path


def words(folder: Path, *more: str) -> list[str]:
    given = [str(folder / "needed"), "--task", "sst2", "--data", str(folder / "texts.csv")]
    return ["choose", *given, "--tolerance", "7", "--steps", "8", "--randoms", "1", *more]


def test_the_heads_can_be_given_to_prune(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--study", str(tmp_path / "study"))) == 0
    shown = capsys.readouterr().out
    assert "Selected: 7 heads, the largest cut shown to stay within 7 points" in shown
    heads = shown.partition("Heads that can go: ")[2].splitlines()[0]
    assert main(["prune", str(folder / "needed"), "--heads", heads, "--out", str(tmp_path / "small")]) == 0
    assert [str(head) for head in hc.read_anatomy(hc.load(tmp_path / "small")[0]).layout] == ["encoder.L0H1"]
    assert "curve@prune-confirming" in hc.open_study(tmp_path / "study")["pruning"].children


def test_json_is_what_python_gives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    model, tokenizer = hc.load(folder / "needed")
    data = str(folder / "texts.csv")
    choice = hc.choose(model, tokenizer, data, task="sst2", tolerance=7, steps=8, randoms=1)
    assert found["heads"] == [str(head).partition(".")[2] for head in choice.heads]
    assert (found["verdict"], found["score"]) == ("confirmed", float(choice.step(choice.held_out)["score"]))


def test_nothing_to_cut(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words(folder)[:6], "--keep", "8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["heads"] == []


@pytest.mark.parametrize(
    ("cut", "expected"),
    [(None, "No head is removed."), (Cut(0, 4, 900), "--by-estimate"), (Cut(0, 0, None), "a larger --tolerance")],
)
def test_what_to_try_next(cut: Cut | None, expected: str) -> None:
    choice: Any = SimpleNamespace(cut=cut)
    assert expected in next_try(choice)
