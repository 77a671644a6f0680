"""The folder of a run: what must be the same for it to be resumed, and the result of a run that has finished."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.core.provenance import differences
from headcount.errors import StudyProblem
from headcount.training.trainer import EARLIER

OPTIONS, RESULT = "options.json", "result.json"
SOURCE = "source"
"""In a result: the task and where its data is (`Splits.source`)."""


def finished_result(folder: Path, identity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of a finished run, or None; an error where the folder holds a run with other options."""
    options = folder / OPTIONS
    if options.is_file():
        before = json.loads(options.read_text(encoding="utf-8"))
        before = {EARLIER.get(key, key): value for key, value in before.items()}
        now = json.loads(json.dumps(identity))
        if before != now:
            raise StudyProblem(
                f"{folder} holds a run with other options ({'; '.join(differences(before, now))}); "
                "give another out=, or the same options to resume"
            )
    path = folder / RESULT
    if not path.is_file():
        return None
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def source_of_run(folder: Path) -> dict[str, Any] | None:
    """The task and the data of the run in this folder, or in the one around it; None where it does not say."""
    for path in (folder / RESULT, folder.parent / RESULT):
        if path.is_file():
            try:
                source = json.loads(path.read_text(encoding="utf-8")).get(SOURCE)
            except (ValueError, AttributeError):
                return None
            return source if isinstance(source, dict) else None
    return None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file that is absent or complete at any moment; its folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content, indent=1), encoding="utf-8")
    new.replace(path)


def last_checkpoint(state: Path) -> str | None:
    """The last complete checkpoint that a Trainer wrote to a folder, as it takes it."""
    complete = filter(_is_complete, state.glob("checkpoint-*"))
    last = max(complete, key=lambda path: int(path.name.split("-")[1]), default=None)
    return None if last is None else str(last)


def _is_complete(checkpoint: Path) -> bool:
    """The Trainer writes this file last; a full disk may leave it empty."""
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
