"""`headcount prune` to a budget: what is written, what is said, and that it resumes."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.cli.recovery import spell_training
from tests import planted

PRUNE = "prune model --task sst2 --data texts.csv --what both --at-least 1 --batch 2 --length 8 --out small"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    planted.save(tmp_path / "model")
    planted.texts(60).to_csv("texts.csv", index=False)
    return tmp_path


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(shlex.split(command)) == 0, capsys.readouterr().err
    return " ".join(capsys.readouterr().out.split())


def test_a_budget_is_kept_by_the_saved_model(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(f"{PRUNE} --weights 80% --steps 2", capsys)
    whole, small = (hc.load(place / name)[0] for name in ("model", "small"))
    assert small.num_parameters() <= 0.8 * whole.num_parameters()
    left = hc.read_anatomy(small)
    assert f"{left.layout.count} of 4 heads and {left.units.count} of 16 feed-forward units are left" in said
    assert "Budget weights=80%" in said
    assert f"{small.num_parameters():,} of {whole.num_parameters():,} parameters" in said


def test_recovery_is_said_and_leaves_no_state(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(f"{PRUNE} --operations 80% --steps 2 --recover 2 --study study", capsys)
    assert "2 steps with the whole model as the teacher" in said
    assert sorted(path.name for path in place.iterdir()) == ["model", "small", "study", "texts.csv"]
    assert {"budget@budget-choosing", "budget@budget-confirming"} <= set(hc.open_study("study")["pruning"].children)


def test_stages_reach_the_budget(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(f"{PRUNE} --operations 50% --stages 2 --recover 2 --study study", capsys)
    assert "each recovered for 2 steps with the whole model as the teacher" in said
    assert "On the held-out half accuracy changes by" in said
    share = float(said.split(" % of the operations and")[0].split()[-1])
    assert share <= 50
    assert "importance@budget-stage-1" in hc.open_study("study")["pruning"].children
    assert sorted(path.name for path in place.iterdir()) == ["model", "small", "study", "texts.csv"]


def test_named_units_are_counted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "3 of 4 heads and 12 of 16 feed-forward units are left" in run(
        "prune model --heads L0H1,L1U0-3 --out small", capsys
    )
    assert "3 of 4 heads are left" in run("prune model --heads L0H1 --out other", capsys)


def test_a_training_in_words() -> None:
    trained = {"max_steps": 5, "teacher": object(), "lora": False, "lora_rank": None}
    assert spell_training(trained) == "5 steps with the whole model as the teacher"
    assert spell_training(trained | {"teacher": None}) == "5 steps"
