"""`headcount sweep --by pair` at work: its table, its sentences, JSON, resuming, and what is asked for how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.cli.main import app
from headcount.cli.pairs import is_number
from tests import planted, planted_pairs


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    planted_pairs.backups().save_pretrained(folder / "model")
    planted.tokenizer(folder / "model").save_pretrained(folder / "model")
    planted.texts().to_csv(folder / "texts.csv", index=False)
    return folder


def run(place: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    command = ["sweep", str(place / "model"), "--task", "sst2", "--data", str(place / "texts.csv"), "--by", "pair"]
    app([*command, *options], result_action="return_value")
    return capsys.readouterr().out


def test_a_table_of_eighty_columns(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(place, capsys, "--among", "L0,L1", "--out", str(place / "study"))
    lines = out.splitlines()
    assert max(map(len, (line for line in lines if str(place) not in line))) <= 80
    row = next(line for line in lines if "L0H0 + L1H1" in line)
    pair, change, interaction, _, kind = (cell.strip() for cell in row.split("│")[1:-1])
    assert (pair, change, interaction, kind) == ("L0H0 + L1H1", "-0.500", "-0.500 [-0.588, -0.412]", "redundant")
    assert "Interactions in accuracy" in out
    assert "Interactions in loss" in out
    again = run(place, capsys, "--among", "L0,L1", "--out", str(place / "study"))
    assert again == out, "read, not computed again"


def test_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: dict[str, Any] = json.loads(run(place, capsys, "--among", "L0H0 L1H1", "--json"))
    (pair,) = told["choices"]
    assert (pair["head_pair"], pair["first"], pair["second"]) == ("L0H0 + L1H1", "L0H0", "L1H1")
    assert (pair["interaction"], pair["joint"], pair["kind"]) == (-0.5, -0.5, "redundant")
    assert told["whole"]["strongest"] == "L0H0 + L1H1"
    assert told["attributes"]["pairs"] == {"run": 1, "tests": 1}


def test_a_number_ranks_heads(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, estimate in (((), "importance"), (("--screen", "norm"), "norm")):
        told = json.loads(run(place, capsys, "--among", "2", *options, "--json"))
        assert told["attributes"]["ranked"] == {"estimate": estimate, "top": 2, "of": 4}
        assert len(told["choices"]) == 1


def test_screened_pairs_are_kept_apart(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = place / "screened"
    out = run(place, capsys, "--screen", "hessian", "--top", "2", "--control", "2", "--out", str(study))
    assert "2 of 6 pairs were run because they rank highest by hessian" in " ".join(out.split())
    tree = hc.open_study(study)
    assert {node.path for node in tree.subtree} >= {"/sweep/pair-zero-screened", "/curvature/gates"}
    rows = hc.table(study)
    assert sorted(rows["selected"]) == ["control", "control", "top", "top"]
    assert hc.report(study, place / "report.html").exists()


def test_what_a_number_is() -> None:
    assert is_number("20")
    assert is_number("-1")
    assert not is_number("L2")
    assert not is_number(None)
