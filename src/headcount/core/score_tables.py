"""Scores of a baseline and its variants for any weights of the examples, which is what all statistics are built on.

`Sums` computes them by matrix products, `Calls` by calling a user's function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class ScoreTable(Protocol):
    """The scores of a baseline and of V variants on the same n examples."""

    draws: int
    """How many resamples are affordable."""

    @property
    def examples(self) -> int: ...

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """For weights [R, n] of the examples, the scores [R, 1 + V], the baseline first."""
        ...

    def exchanged(self, swaps: np.ndarray) -> np.ndarray:
        """For 0/1 `swaps` [R, n], the differences [R, V] when these examples are exchanged with the baseline's."""
        ...


@dataclass
class Sums:
    """Scores that are functions of sums: features [1 + V, n, k] and `combine` from [..., k] to a score."""

    features: np.ndarray
    combine: Callable[[np.ndarray], np.ndarray]
    draws: int = 10_000

    @property
    def examples(self) -> int:
        return int(self.features.shape[1])

    def scores(self, weights: np.ndarray) -> np.ndarray:
        variants, examples, k = self.features.shape
        flat = self.features.transpose(1, 0, 2).reshape(examples, variants * k)
        sums = np.asarray(weights, dtype=float) @ flat
        return np.asarray(self.combine(sums.reshape(len(weights), variants, k)))

    def exchanged(self, swaps: np.ndarray) -> np.ndarray:
        baseline, variants = self.features[0], self.features[1:]
        count, examples, k = variants.shape
        change = (variants - baseline).transpose(1, 0, 2).reshape(examples, count * k)
        moved = (np.asarray(swaps, dtype=float) @ change).reshape(len(swaps), count, k)
        return np.asarray(self.combine(variants.sum(1) - moved) - self.combine(baseline.sum(0) + moved))


@dataclass
class Calls:
    """Scores of a user's function of predictions and labels: predictions [1 + V] sequences of n."""

    predictions: Sequence[Any]
    labels: Any
    function: Callable[[Any, Any], float]
    draws: int = 500

    @property
    def examples(self) -> int:
        return len(self.labels)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        rows = [np.repeat(np.arange(self.examples), np.asarray(weight, dtype=int)) for weight in weights]
        return np.array([[self._call(_take(variant, row), row) for variant in self.predictions] for row in rows])

    def exchanged(self, swaps: np.ndarray) -> np.ndarray:
        every = np.arange(self.examples)
        baseline = self.predictions[0]
        return np.array(
            [
                [
                    self._call(_mix(variant, baseline, swap), every) - self._call(_mix(baseline, variant, swap), every)
                    for variant in self.predictions[1:]
                ]
                for swap in np.asarray(swaps, dtype=bool)
            ]
        )

    def _call(self, predictions: Any, rows: np.ndarray) -> float:
        return float(self.function(predictions, _take(self.labels, rows)))


def _take(values: Any, rows: np.ndarray) -> Any:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def _mix(first: Any, second: Any, swap: np.ndarray) -> Any:
    """`first` with the entries of `second` where `swap` is true."""
    if isinstance(first, np.ndarray):
        return np.where(swap.reshape(-1, *[1] * (first.ndim - 1)), second, first)
    return [b if swapped else a for a, b, swapped in zip(first, second, swap, strict=True)]
