"""What was measured at steps of one training: without disturbing it, and kept as lines of a file.

A line is written when it is computed, so that a training which was killed and resumed has those before its checkpoint.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headcount.choosing.importance import frozen
from headcount.core.provenance import differences
from headcount.errors import StudyProblem
from headcount.models.dispatched import input_device
from headcount.trace.modes import evaluating


@dataclass(frozen=True)
class Row:
    """Numbers of all heads [stack, layer, head] after one step of a training, by name."""

    step: int
    arrays: Mapping[str, np.ndarray]
    stability: float
    """The rank correlation of what orders the heads on two halves of the examples."""


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Leave a model that is being trained as it was: its modes, its gradients, and all random generators."""
    device = input_device(model)
    drawn, plain = np.random.get_state(), random.getstate()
    try:
        with (
            torch.random.fork_rng([device] if device.type == "cuda" else []),
            evaluating(model),
            frozen(model),
            torch.inference_mode(False),
        ):
            yield
    finally:
        np.random.set_state(drawn)
        random.setstate(plain)


class Journal:
    """A file with what a training is about, in its first line, and a line for each row.

    `start`: the fingerprint of the model that the training began with.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], start: str) -> None:
        self.path, self.about, self.start = path, json.loads(json.dumps(dict(about))), start

    def begin(self) -> None:
        """Start anew."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write(self.path, [])

    def resume(self, step: int) -> list[Row]:
        """The rows up to a step, where a training goes on; those after it are dropped, to be computed again."""
        if not self.path.is_file():
            self.begin()
            return []
        first, *lines = self.path.read_text(encoding="utf-8").splitlines() or [""]
        stored = _parsed(first) or {}
        self.start = stored.get("start", self.start)
        if stored.get("about") != self.about:
            raise StudyProblem(
                f"{self.path} is of a training with other options "
                f"({'; '.join(differences(stored.get('about', {}), self.about))}); give the same ones to resume, "
                "or name="
            )
        rows = [_row(line) for text in lines if (line := _parsed(text)) is not None]  # a kill may leave half a line
        kept = [row for row in rows if row.step <= step]
        new = self.path.with_name(f".{self.path.name}-new")
        self._write(new, kept)
        new.replace(self.path)
        return kept

    def add(self, row: Row) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(row))

    def _write(self, path: Path, rows: list[Row]) -> None:
        lines = [json.dumps({"about": self.about, "start": self.start}) + "\n", *map(_line, rows)]
        path.write_text("".join(lines), encoding="utf-8")


def _line(row: Row) -> str:
    # As many digits as tell a float32 from its neighbours.
    arrays = {name: [float(str(value)) for value in array.ravel()] for name, array in row.arrays.items()}
    shape = list(next(iter(row.arrays.values())).shape)
    return json.dumps({"step": row.step, "stability": row.stability, "shape": shape, "arrays": arrays}) + "\n"


def _row(line: Mapping[str, Any]) -> Row:
    arrays = {name: np.array(values, np.float32).reshape(line["shape"]) for name, values in line["arrays"].items()}
    return Row(line["step"], arrays, line["stability"])


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
