"""The recovery of `prune`: how it is spelled, what is said where it diverges, and what is removed in the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from headcount.cli.recovery import checked_training, remove_state, spell_training
from headcount.errors import NotFinite, TrainingDiverged
from headcount.pruning.recovery_folder import WEIGHTS

TRAINED: dict[str, Any] = {"max_steps": 60, "learning_rate": None, "lora": False, "lora_rank": None}


def test_how_a_training_is_spelled() -> None:
    assert spell_training(TRAINED | {"teacher": None}) == "60 steps"
    taught = TRAINED | {"teacher": torch.nn.Identity()}
    assert spell_training(taught) == "60 steps with the whole model as the teacher"
    adapted = taught | {"lora": True, "lora_rank": 8}
    assert spell_training(adapted) == "60 steps with LoRA (rank 8) and the whole model as the teacher"


@pytest.mark.parametrize("error", [TrainingDiverged, NotFinite])
def test_errors_of_training_say_what_to_change(error: Any) -> None:
    with pytest.raises(TrainingDiverged, match=r"give a lower learning_rate= than 2e-05"), checked_training(TRAINED):
        raise error("the loss is nan")


def test_the_state_of_a_training_is_removed(tmp_path: Path) -> None:
    """Of one recovery, and of those of stages; a file that Headcount did not write stays."""
    state = tmp_path / "state"
    for folder in (state / "stage-1", state / "stage-2", state / "study-2"):
        (folder / "state").mkdir(parents=True)
    (state / WEIGHTS).touch()
    remove_state(state)
    assert not state.exists()
    remove_state(state)
    remove_state(None)


def test_what_others_wrote_stays(tmp_path: Path) -> None:
    (tmp_path / "stage-1").mkdir()
    for mine in (tmp_path / "thesis.tex", tmp_path / "stage-1" / "notes.txt"):
        mine.touch()
    (tmp_path / WEIGHTS).touch()
    remove_state(tmp_path)
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == ["stage-1", "stage-1/notes.txt", "thesis.tex"]
