"""What heads are compared with: simple rules, the best of which is selected and evaluated as heads are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.core.schema import Schema
from headcount.probing.selection.accuracies import Evaluated, accuracies, select_best


@dataclass(frozen=True)
class Baselines:
    """The best rule of each relation, and others by name, on the half of the texts that did not select.

    All have a column for each direction and relation: under a causal mask each direction has cases of its own, and
    heads are compared with what rules get on the same ones.
    """

    best: Evaluated
    baselines: dict[str, Evaluated]
    """By the names that they have in the result: `baseline_offset`."""
    selected: np.ndarray
    """[direction, relation]: the accuracy of the best rule on the half that selected it."""
    cases: np.ndarray
    """[text, direction, relation]."""
    selecting: np.ndarray
    directions: tuple[str, ...]

    def column(self, direction: np.ndarray, relation: np.ndarray) -> np.ndarray:
        """Where `best` and the baselines have a direction and relation."""
        columns: np.ndarray = direction * self.cases.shape[2] + relation
        return columns

    def held_out(self, direction: np.ndarray, relation: np.ndarray) -> np.ndarray:
        """How many cases evaluate."""
        counted: np.ndarray = self.cases[~self.selecting].sum(0)[direction, relation].astype(int)
        return counted


def select_rule(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> tuple[Evaluated, np.ndarray]:
    """From hits [text, rule, direction, relation] and cases [text, direction, relation]: `best` and `selected`."""
    columns = hits.reshape(*hits.shape[:2], -1)
    total = np.broadcast_to(cases.reshape(len(cases), 1, -1), columns.shape)
    best = select_best(columns, total, selecting, seed)
    return best, accuracies(hits[selecting], cases[selecting][:, None]).max(0)


def baseline(title: str, unit: str) -> Schema:
    """The schema of what a best head is compared with."""
    return Schema(title, unit, range=(0, 1), shown=False)
