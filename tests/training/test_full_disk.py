"""Is a full disk one clear line, and does the same call, with room again, go on to the same model?"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from safetensors import SafetensorError
from transformers import PreTrainedTokenizerBase, TrainerState, modeling_utils

import headcount as hc
from headcount.errors import HeadcountError
from headcount.training.trainer import RunTrainer
from tests.training import toy

SETTINGS = replace(toy.SHORT, num_train_epochs=2, save_steps=2, checkpoints=2)
"""8 steps: checkpoints at 0, 4 and 8, states of the Trainer at 2, 4, 6 and 8."""
NO_ROOM = OSError(errno.ENOSPC, "No space left on device")
RUST = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
TORCH = RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 17472 vs 17360")
"""What a small tmpfs gave: torch does not say that the disk is full."""
Fault = tuple[Any, str, Exception, int]
FAULTS: dict[str, Fault] = {  # whose function, its name, what it raises, the calls of it that succeed before
    "first checkpoint, weights": (modeling_utils, "safe_save_file", RUST, 0),
    "first checkpoint, tokenizer": (PreTrainedTokenizerBase, "save_pretrained", NO_ROOM, 0),
    "state, weights": (modeling_utils, "safe_save_file", RUST, 1),
    "second state, optimizer": (torch, "save", TORCH, 5),
    "second state, last file": (TrainerState, "save_to_json", NO_ROOM, 1),
    "second checkpoint, weights": (modeling_utils, "safe_save_file", RUST, 2),
    "model, weights": (modeling_utils, "safe_save_file", RUST, 7),
    "model, tokenizer": (PreTrainedTokenizerBase, "save_pretrained", NO_ROOM, 3),
    "result": (Path, "write_text", NO_ROOM, 1),
    "table of runs": (pd.DataFrame, "to_csv", NO_ROOM, 0),
}


@contextmanager
def full(owner: Any, name: str, error: Exception, before: int) -> Iterator[None]:
    """From its call `before` on, the function writes a file of no bytes and raises."""
    whole: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def write(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls <= before:
            return whole(*args, **options)
        for path in (Path(one) for one in args if isinstance(one, str | Path)):
            if path.parent.is_dir() and not path.is_dir():
                path.write_bytes(b"")
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, write)
        yield
    assert calls > before, "the disk was not full yet"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data", toy.pairs(32))
    return path


def train(place: Path, out: Path) -> pd.DataFrame:
    return hc.finetune(place / "model", "mrpc", place / "data", out, settings=SETTINGS)


@pytest.fixture(scope="module")
def whole(place: Path) -> tuple[pd.DataFrame, dict[str, torch.Tensor]]:
    table = train(place, place / "whole")
    return table, toy.weights(table["model"].item())


def stop(place: Path, out: Path, fault: str) -> Path:
    """The folder of the run, after the disk was full."""
    with full(*FAULTS[fault]), pytest.raises((HeadcountError, OSError, SafetensorError, RuntimeError)):
        train(place, out)
    return out / "mrpc" / "pretrained" / "seed-0"


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_one_clear_line(place: Path, tmp_path: Path, fault: str) -> None:
    with full(*FAULTS[fault]), pytest.raises(HeadcountError) as caught:
        train(place, tmp_path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(tmp_path) in message
    assert "run the same command again" in message


@pytest.mark.parametrize(
    "fault", [name for name in FAULTS if name.startswith(("first checkpoint", "second checkpoint", "model"))]
)
def test_what_was_half_written_takes_no_room(place: Path, tmp_path: Path, fault: str) -> None:
    assert not [one.name for one in stop(place, tmp_path, fault).rglob(".*")]


@pytest.mark.parametrize("fault", FAULTS)
def test_with_room_again_it_goes_on_to_the_same_model(
    place: Path, tmp_path: Path, whole: tuple[pd.DataFrame, dict[str, torch.Tensor]], fault: str
) -> None:
    """And until then no folder is there that looks like a model and is none."""
    run = stop(place, tmp_path, fault)
    for folder in [run / "model", *(run / "checkpoints").glob("step-*")]:
        if folder.exists():
            hc.load(folder)
    assert (run / "result.json").exists() == (fault == "table of runs")
    again = train(place, tmp_path)
    expected, weights = whole
    assert again["score"].item() == expected["score"].item()
    assert again["steps"].item() == 8
    assert toy.same(toy.weights(again["model"].item()), weights)
    assert sorted(one.name for one in run.iterdir()) == ["checkpoints", "model", "options.json", "result.json"]
    assert sorted(one.name for one in (run / "checkpoints").iterdir()) == ["step-000000", "step-000004", "step-000008"]
    assert list(pd.read_csv(tmp_path / "runs.csv")["score"]) == pytest.approx([expected["score"].item()])


def test_what_was_trained_before_is_not_trained_again(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on from the last whole state, not from the start."""
    run = stop(place, tmp_path, "second checkpoint, weights")
    assert [one.name for one in (run / "state").iterdir()] == ["checkpoint-2"]
    seen, whole = [], RunTrainer.training_step

    def step(self: Any, *rest: Any) -> Any:
        seen.append(self.state.global_step)
        return whole(self, *rest)

    monkeypatch.setattr(RunTrainer, "training_step", step)
    train(place, tmp_path)
    assert seen == list(range(2, 8))
