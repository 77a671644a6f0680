"""What fixed offsets get: the head of a word is always the word so many places after it."""

from __future__ import annotations

import numpy as np

from headcount.probing.dependencies.trees import DIRECTIONS, OFFSETS, Trees
from headcount.probing.selection.accuracies import accuracies
from headcount.probing.selection.baselines import Baselines, evaluate_rule, select_rule

RIGHT = OFFSETS.index(1)
"""The right-branching baseline of Clark et al.: the head is always the next word."""


def evaluate_offsets(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> Baselines:
    """From the `hits` [sentence, offset, direction, relation] and `cases` [sentence, direction, relation] of trees."""
    best, selected = select_rule(hits, cases, selecting, seed)
    right = evaluate_rule(hits[:, RIGHT], cases, selecting, seed)
    baselines = {"baseline_offset": best, "baseline_right_branching": right}
    return Baselines(best, baselines, selected, cases, selecting, DIRECTIONS)


def offset_accuracies(trees: Trees) -> np.ndarray:
    """[offset, relation]: how often the word at each offset is the head, on all sentences."""
    return accuracies(trees.offset_hits(causal=False)[:, :, 0], trees.cases(causal=False)[:, 0])
