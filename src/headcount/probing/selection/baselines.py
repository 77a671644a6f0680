"""What heads are compared with: simple rules, the best of which is selected and evaluated as heads are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.core.schema import Schema
from headcount.probing.selection.accuracies import Evaluated, accuracies, evaluate, select_best

LEAST_CASES = 100
"""Cases that a relation needs to be looked at, and that one of its directions needs beside the other."""


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

    @property
    def considered(self) -> np.ndarray:
        """[direction, relation]: where the best head may be.

        Under a causal mask a direction may have next to no cases, where some head is ahead of every rule by chance: it
        needs `LEAST_CASES`, or as many as the other where neither has.
        """
        counted = self.cases.sum(0)
        enough: np.ndarray = counted >= np.minimum(counted.max(0), LEAST_CASES)
        return enough

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
    best = select_best(hits.reshape(*hits.shape[:2], -1), cases.reshape(len(cases), -1), selecting, seed)
    return best, accuracies(hits, cases, selecting).max(0)


def evaluate_rule(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> Evaluated:
    """What one rule gets, from its hits and cases [text, direction, relation]; nothing was selected for it."""
    right, total = hits.reshape(len(hits), -1), cases.reshape(len(cases), -1)
    return evaluate(right, total, np.where(total.sum(0) > 0, 0, -1), selecting, seed)


def baseline(title: str, unit: str) -> Schema:
    """The schema of what a best head is compared with."""
    return Schema(title, unit, range=(0, 1), shown=False)
