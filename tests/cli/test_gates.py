"""The verb `gates`: a row for each price, the needed head stays open longest; with --roles, what each head does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.cli.main import main
from tests import planted
from tests.choosing import planted_roles
from tests.pruning import planted as parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    parts.classifier(parts.NEEDED, parts.STEEP, loud=3).save_pretrained(path / "needed")
    planted.tokenizer(path / "needed").save_pretrained(path / "needed")
    planted_roles.model().save_pretrained(path / "roles")
    planted.tokenizer(path / "roles").save_pretrained(path / "roles")
    parts.texts(40).to_csv(path / "texts.csv", index=False)
    planted_roles.texts().to_csv(path / "more.csv", index=False)
    return path


def words(folder: Path, *more: str) -> list[str]:
    return ["gates", str(folder / "needed"), "--task", "sst2", "--data", str(folder / "texts.csv"), *more]


def test_the_needed_head_stays_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--price", "0.05,0.1", "--max-steps", "120", "--per-device-train-batch-size", "16"]
    assert main(words(folder, *more)) == 0
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["0.05", "0.1"]
    assert all("L0H1" in row[3] for row in rows)
    assert int(rows[-1][1]) < 8


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--price", "0", "--max-steps", "1", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 8
    assert {"gate", "open", "log_a"} <= set(rows[0])


def test_a_study_keeps_them(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = words(folder, "--price", "0.1", "--max-steps", "2", "--out", str(tmp_path / "study"))
    assert main(command) == 0
    first = capsys.readouterr().out
    assert f"Saved in {tmp_path / 'study'}" in first
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert main(["table", str(tmp_path / "study"), "--group", "pruning/gates"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "result,model,task,stack,layer,head,openness"


def test_prices_that_are_no_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(folder, "--price", "cheap")) == 2
    assert "got --price cheap; expected numbers" in capsys.readouterr().err


def role_words(folder: Path, *more: str) -> list[str]:
    data = ["--task", "sst2", "--data", str(folder / "more.csv"), "--seeds", "2", "--randoms", "3"]
    fast = ["--max-steps", "40", "--learning-rate", "0.25", "--per-device-train-batch-size", "16"]
    return ["gates", str(folder / "roles"), "--roles", *data, *fast, *more]


def test_roles(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    command = role_words(folder, "--out", str(tmp_path / "study"))
    assert main(command) == 0
    said = capsys.readouterr().out
    rows = [line.split("│")[1:-1] for line in said.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[:2]] for row in rows] == [["L0H0", "facilitating"], ["L1H2", "interfering"]]
    assert "Without the interfering head (L1H2), the loss of 40 held-out examples falls," in said
    assert all(len(line) <= 80 for line in said.splitlines() if not line.startswith("Saved in"))
    assert main(command) == 0
    assert capsys.readouterr().out == said
    assert main(["table", str(tmp_path / "study"), "--group", "pruning/roles"]) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert {"facilitation", "interference", "irrelevance", "role"} <= set(header.split(","))
    assert len(first.split(",")) == len(header.split(","))


def test_roles_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(role_words(folder, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    roles = {(row["layer"], row["head"]): row["role"] for row in found["heads"]}
    assert (roles[0, 0], roles[1, 2], roles[1, 3]) == ("facilitating", "interfering", "irrelevant")
    assert [row["verdict"] for row in found["checked"]] == ["confirmed", "confirmed"]
    assert {role: len(draws) for role, draws in found["random_sets"].items()} == {"interfering": 3, "irrelevant": 3}
