"""What fixed offsets get: the head of a word is always the word so many places after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.probing.accuracies import Evaluated, accuracies, evaluate, select_best
from headcount.probing.trees import OFFSETS, Trees

RIGHT = OFFSETS.index(1)
"""The right-branching baseline of Clark et al.: the head is always the next word."""


@dataclass(frozen=True)
class Offsets:
    """The best offset of each relation and the next word, on the half of the sentences that did not select.

    All have a column for each direction and relation: under a causal mask each direction has cases of its own, and
    heads are compared with what offsets get on the same ones.
    """

    best: Evaluated
    right: Evaluated
    selected: np.ndarray
    """[direction, relation]: the accuracy of the best offset on the half that selected it."""
    cases: np.ndarray
    """[sentence, direction, relation]."""
    selecting: np.ndarray

    def column(self, direction: np.ndarray, relation: np.ndarray) -> np.ndarray:
        """Where `best` and `right` have a direction and relation."""
        columns: np.ndarray = direction * self.cases.shape[2] + relation
        return columns

    def held_out(self, direction: np.ndarray, relation: np.ndarray) -> np.ndarray:
        """How many cases evaluate."""
        counted: np.ndarray = self.cases[~self.selecting].sum(0)[direction, relation].astype(int)
        return counted


def evaluate_offsets(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> Offsets:
    """From the `hits` [sentence, offset, direction, relation] and `cases` [sentence, direction, relation] of trees."""
    columns = hits.reshape(*hits.shape[:2], -1)
    total = cases.reshape(len(cases), -1)
    best = select_best(columns, np.broadcast_to(total[:, None], columns.shape), selecting, seed)
    right = evaluate(columns[:, RIGHT], total, np.where(total.sum(0) > 0, RIGHT, -1), selecting, seed)
    selected = accuracies(hits[selecting], cases[selecting][:, None]).max(0)
    return Offsets(best, right, selected, cases, selecting)


def offset_accuracies(trees: Trees) -> np.ndarray:
    """[offset, relation]: how often the word at each offset is the head, on all sentences."""
    return accuracies(trees.offset_hits(causal=False)[:, :, 0], trees.cases(causal=False)[:, None, 0])
