"""The folder of a recovery: its state every two minutes, so that the same call resumes, and the weights at the end."""

from __future__ import annotations

import errno
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from transformers import PreTrainedModel, TrainerCallback

from headcount.errors import CannotWrite, StudyProblem, TrainingDiverged, cannot_write
from headcount.training.run_folder import OPTIONS, RESULT, finished_result, write_json

SECONDS = 120.0
"""Between two saved states."""
WEIGHTS = "weights.safetensors"


def load_finished(model: PreTrainedModel, folder: Path, identity: Mapping[str, Any]) -> bool:
    """Give the model the weights of a recovery that has finished; False if it has not.

    An error where the folder holds another recovery.
    """
    if finished_result(folder, identity) is None:
        return False
    try:
        load_model(model, folder / WEIGHTS, device=str(model.device))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise StudyProblem(
            f"the weights in {folder} cannot be read ({str(error).splitlines()[0]}); remove it and run again"
        ) from error
    return True


def save_finished(model: PreTrainedModel, folder: Path, identity: Mapping[str, Any]) -> None:
    """Write the weights of a recovery that has finished, and remove its state."""
    with _writing(folder):
        new = folder / f"{WEIGHTS}.new"
        save_model(model, str(new))
        new.replace(folder / WEIGHTS)
        write_json(folder / RESULT, {"identity": dict(identity)})
    shutil.rmtree(folder / "state", ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Remove the folder of a recovery that is not needed any more; what Headcount did not write there stays."""
    for name in (OPTIONS, RESULT, WEIGHTS):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "state", ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@contextmanager
def state_folder(folder: Path | None, identity: Mapping[str, Any]) -> Iterator[Path]:
    """Where the Trainer writes its state: a folder that is resumed from, or one that is removed in the end.

    The state of a training that diverged is removed, so that the folder takes one with another learning rate.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary)
        return
    with _writing(folder):
        write_json(folder / OPTIONS, identity)
        try:
            yield folder / "state"
        except TrainingDiverged:
            (folder / OPTIONS).unlink(missing_ok=True)
            shutil.rmtree(folder / "state", ignore_errors=True)
            raise


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotWrite(cannot_write(folder, error)) from error
    except SafetensorError as error:
        raise CannotWrite(cannot_write(folder, OSError(errno.EIO, str(error).splitlines()[0]))) from error


class SaveOften(TrainerCallback):  # type: ignore[misc]
    """Saves the state after a while, not after a number of steps: a step may take milliseconds or a minute."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if time.monotonic() - self.last >= SECONDS and state.global_step < state.max_steps:
            control.should_save = True
            self.last = time.monotonic()
