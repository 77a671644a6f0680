"""The verb `explain`: one screen of sentences, JSON, and one line for what cannot be explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests.reporting import studies


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.probed_study(tmp_path_factory.mktemp("explain") / "study")


def test_one_screen(study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", "L0H3", str(study)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("L0H3 of BertForMaskedLM, one of 16 heads in ")
    sentences = [line for line in lines[1:] if not line.startswith("    headcount ")]
    assert all(len(line) <= 80 and line == line.rstrip() for line in sentences)
    assert "What it follows" in lines
    assert "    headcount measure MODEL --data DATA --out " + str(study) in lines  # on one line, to be copied


def test_json_is_what_python_returns(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "L0H3", str(study), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(hc.explain(study, "L0H3").as_dict()))
    assert {fact["section"] for fact in printed["facts"]} == {"What it follows"}


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("L0H8", "L0 has heads 0-7"),
        ("L9H0", "L0 to L1"),
        ("L0", "8 heads; expected one head"),
        ("x", "L3H7"),
        ("l0h3", "expected L0H3, with capital letters"),
        ("L0U3", "feed-forward units are not explained; expected a head such as L0H0"),
    ],
)
def test_a_head_that_there_is_not(study: Path, head: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", head, str(study)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_the_head_comes_first(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(study), "L0H3"]) == 2
    said = f"the head comes first, then the study: headcount explain L0H3 {study}"
    assert capsys.readouterr().err == f"headcount: {said}\n"
    monkeypatch.chdir(tmp_path)
    Path("L0H3").symlink_to(study)  # a study may be called so
    assert main(["explain", "L0H3", "L0H3"]) == 0
