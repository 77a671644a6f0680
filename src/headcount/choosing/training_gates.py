"""Which heads does the model need at a step of a training? Gates, learned in a few steps with the weights frozen.

Gates are learned apart on two halves of the examples, so that their agreement says how far so few steps on so few
examples can be trusted; what a result says of a head is the mean of both. Every measurement starts anew: gates that
started where the measurement before ended would agree with it for that reason, whether or not the model has settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from headcount.choosing.gate_path import follow_path
from headcount.choosing.gates import SCHEMAS
from headcount.choosing.hard_concrete import open_probability, steady_gate
from headcount.choosing.training_measurement import Measurement, Scene
from headcount.choosing.training_rows import Row, undisturbed
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, Labelled, head_coords
from headcount.core.schema import with_schemas
from headcount.core.statistics import rank_correlation

PRICE = 0.003
"""Of an open gate, where none is given."""
STEPS = 40
"""For each half, where no number is given: a gate can close in so many, and a measurement has to be repeated."""
RATE = 0.1
"""That of `learn_gates`. Three times as much in half the steps sometimes closed the gate of a head that is needed."""
OF_HEADS = ("log_a", "gate", "open")


@dataclass(frozen=True)
class TrainingGates(Measurement):
    """A row has `log_a`, the mean of both halves."""

    price: float
    max_steps: int
    seed: int
    what: ClassVar[str] = "gates"
    order: ClassVar[str] = "log_a"

    def settings(self, scene: Scene) -> dict[str, Any]:
        return {"what": self.what, "price": self.price, **self._learning(scene)}

    def row(self, scene: Scene, step: int) -> Row:
        job = scene.job
        settings = self._learning(scene) | {"train_weights": None}
        with undisturbed(job.model):
            first, second = (
                self._learn(scene, settings, among, draw_seed(self.seed, step, number))
                for number, among in enumerate(halves(len(job.encodings.rows)))
            )
        alike = rank_correlation(first.ravel(), second.ravel(), draws=1)[0]
        return Row(step, {"log_a": (first + second) / 2}, alike if len(job.encodings.rows) > 1 else float("nan"))

    def totals(self, row: Row) -> dict[str, float]:
        return {"kept": int(kept(row.arrays["log_a"]))}

    def by_layer(self, row: Row) -> tuple[str, np.ndarray]:
        gates = steady_gate(torch.from_numpy(row.arrays["log_a"])).numpy()
        return "gate", np.nansum(gates, axis=-1) / np.maximum(np.isfinite(gates).sum(-1), 1)

    def by_head(self, row: Row) -> tuple[str, np.ndarray]:
        return "gate", steady_gate(torch.from_numpy(row.arrays["log_a"])).numpy()

    def arrays(self, rows: Sequence[Row]) -> Labelled:
        log_a = np.stack([row.arrays["log_a"] for row in rows])
        known = torch.from_numpy(log_a)
        values = (log_a, steady_gate(known).numpy(), open_probability(known).numpy())
        arrays: dict[str, tuple[Any, ...]] = {
            name: (("checkpoint", *HEAD_DIMS), array) for name, array in zip(OF_HEADS, values, strict=True)
        }
        arrays["kept"] = (("checkpoint",), np.array([kept(each) for each in log_a]))
        return with_schemas(arrays, SCHEMAS | {"gate": replace(SCHEMAS["gate"], main=True)})

    def _learn(self, scene: Scene, settings: dict[str, Any], among: np.ndarray, seed: int) -> np.ndarray:
        """Log a [stack, layer, head] after training on some examples."""
        layout, prices = scene.job.anatomy.layout, [self.price]
        stacks = list(layout.stacks)
        state = follow_path(scene.job, scene.padding, stacks, prices, settings, seed, None, among)[0]
        return spread(state["log_a"], layout)

    def _learning(self, scene: Scene) -> dict[str, Any]:
        """As `learn_gates` calls them. A batch has no more texts than a half, nor more tokens than fit into memory."""
        texts, longest = (len(scene.job.encodings.rows) + 1) // 2, int(scene.job.encodings.lengths.max())
        return {
            "max_steps": self.max_steps,
            "learning_rate": RATE,
            "per_device_train_batch_size": max(1, min(texts, scene.tokens // longest)),
        }


def draw_seed(seed: int, step: int, half: int) -> int:
    """Other batches and noise for each step and half: what two share would look like agreement of the heads."""
    return int(np.random.default_rng([seed, step, half]).integers(2**31))


def halves(examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Every other example, and those between; a single one is both.

    >>> [half.tolist() for half in halves(5)]
    [[0, 2, 4], [1, 3]]
    """
    rows = np.arange(examples)
    return rows[::2], rows[1::2] if examples > 1 else rows


def spread(values: Mapping[str, np.ndarray], layout: Layout) -> np.ndarray:
    """[stack, layer, head] from the values [layer, head] of each stack; NaN where the model has no such head."""
    full = np.full([len(labels) for labels in head_coords(layout).values()], np.nan, np.float32)
    for number, stack in enumerate(layout.stacks):
        layers, heads = values[stack].shape
        full[number, :layers, :heads] = values[stack]
    return full


def kept(log_a: np.ndarray) -> int:
    """How many gates are above zero without noise, as `learn_gates` counts them."""
    return int((np.nan_to_num(steady_gate(torch.from_numpy(log_a)).numpy()) > 0).sum())
