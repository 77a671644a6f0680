"""How far one cue alone would get: selected on one half of the examples, evaluated on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from headcount.core.proportions import wilson_interval
from headcount.statistical_cues.productivity import Entries, label_counts


@dataclass(frozen=True)
class OneCue:
    """The best single cue of one half, and its accuracy on the other with an interval, beside guessing there."""

    cue: int
    rule: str
    accuracy: float
    low: float
    high: float
    guess: float
    examples: int


def best_choice_cue(entries: Entries, first: np.ndarray, tested: np.ndarray) -> OneCue:
    """For multiple choice: take a choice that has the cue, or one that has not; guess where it is not applicable.

    `first`: whether an example is in the half that selects.
    """
    gains = np.stack(entries.of(first).gains())[:, tested]
    avoid, best = np.unravel_index(int(gains.argmax()), gains.shape)
    cue = int(tested[best])
    held_out = entries.of(~first)
    examples = int((~first).sum())
    gain = held_out.gains()[int(avoid)][cue]
    right = examples / entries.choices + gain
    rule = "take the choice without it" if avoid else "take the choice with it"
    return _evaluated(cue, rule, right, examples, 1 / entries.choices)


def best_label_cue(
    matrix: csr_matrix, labels: np.ndarray, names: list[str], first: np.ndarray, tested: np.ndarray
) -> OneCue:
    """For classification: one label for the examples with the cue, one for those without it."""
    classes = len(names)
    totals = np.bincount(labels[first], minlength=classes)
    having = label_counts(matrix[first], labels[first], classes)[:, tested]
    lacking = totals[:, None] - having
    best = int((having.max(0) + lacking.max(0)).argmax())
    with_cue, without = int(having[:, best].argmax()), int(lacking[:, best].argmax())
    cue, others = int(tested[best]), labels[~first]
    present = np.asarray(matrix[~first][:, [cue]].todense()).ravel() > 0
    right = (np.where(present, with_cue, without) == others).sum()
    rule = f"{names[with_cue]} with it, {names[without]} without it"
    return _evaluated(cue, rule, float(right), len(others), float(np.bincount(others).max() / len(others)))


def _evaluated(cue: int, rule: str, right: float, examples: int, guess: float) -> OneCue:
    low, high = wilson_interval(np.array([right]), np.array([examples]))
    return OneCue(cue, rule, right / examples, float(low[0]), float(high[0]), guess, examples)
