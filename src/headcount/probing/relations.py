"""For each relation the best head beside the best fixed offset; for each head the relation that it follows best."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.core.claims import SYNTACTIC
from headcount.core.heads import Head, Layout
from headcount.core.results import HEAD_DIMS, Labelled
from headcount.core.schema import Schema
from headcount.probing.accuracies import Evaluated, Triple, accuracies, accuracy_interval, evaluate, halves, select_best
from headcount.probing.trees import DIRECTIONS, OFFSETS

SCHEMAS = {
    "accuracy": Schema(
        "Attends along a relation",
        "share of the words",
        "1: the most attended word is always the syntactic head",
        (0, 1),
        shown=False,
    ),
    "relation_gain": Schema(
        "Follows its best relation, above the best fixed offset",
        "share of the words",
        "above 0: right more often than any fixed offset",
        signed=True,
        most="follows a relation between words furthest beyond any fixed offset",
        role="syntactic",
        role_from=SYNTACTIC,
    ),
}


def every_head(hits: np.ndarray, cases: np.ndarray, seed: int) -> Labelled:
    """The accuracy of every head for every relation, on all sentences."""
    dims = (*HEAD_DIMS, "direction", "relation")
    arrays = _with_interval("accuracy", dims, accuracy_interval(hits, cases, seed))
    counted = np.nan_to_num(cases.sum(0)).max((1, 2)).astype(int)
    return {**arrays, "cases": (("stack", "direction", "relation"), counted)}


def best_heads(
    hits: np.ndarray, cases: np.ndarray, offsets: np.ndarray, words: np.ndarray, layout: Layout, seed: int
) -> Labelled:
    """For each relation the best head and direction and the best offset, selected on one half, evaluated on the other.

    `hits` and `cases` [sentence, stack, layer, head, direction, relation], those of `offsets` and `words` [sentence,
    offset, relation].
    """
    selecting = halves(len(hits), seed)
    best = select_best(_by_candidate(hits), _by_candidate(cases), selecting, seed)
    offset = select_best(offsets, words, selecting, seed)
    dims = ("relation",)
    named = [_spell(int(number), hits.shape[1:5], layout) for number in best.index]
    return {
        "best_head": (dims, np.array([head for head, _ in named], dtype=object)),
        "best_direction": (dims, np.array([direction for _, direction in named], dtype=object)),
        "best_offset": (dims, np.where(offset.index < 0, 0, np.array(OFFSETS)[offset.index])),
        "held_out_cases": (dims, words[~selecting].sum(0)[0].astype(int)),
        **_with_interval("best_accuracy", dims, best.interval()),
        **_with_interval("offset_accuracy", dims, offset.interval()),
        **_with_interval("gain", dims, best.above(offset)),
        **_relations_of_heads(hits, cases, offset, selecting, seed, accuracies(offsets[selecting], words[selecting])),
    }


def best_random_heads(hits: np.ndarray, cases: np.ndarray, seed: int) -> Labelled:
    """The same for the model with random weights: what the best of so many untrained heads gets."""
    best = select_best(_by_candidate(hits), _by_candidate(cases), halves(len(hits), seed), seed)
    return _with_interval("random_accuracy", ("relation",), best.interval())


def _relations_of_heads(
    hits: np.ndarray,
    cases: np.ndarray,
    offset: Evaluated,
    selecting: np.ndarray,
    seed: int,
    offset_seen: np.ndarray,
) -> Labelled:
    """For each head the relation and direction that it follows furthest beyond the best offset, and by how much.

    Selected like the offset, on one half; the gain is that on the other.
    """
    heads, relations = hits.shape[1:4], hits.shape[-1]
    ahead = accuracies(hits[selecting], cases[selecting]) - offset_seen.max(0)
    ahead[..., 0] = np.nan  # all relations together are none
    flat = np.nan_to_num(ahead.reshape(*heads, -1), nan=-2).reshape(-1, 2 * relations)
    chosen = np.where(flat.max(1) <= -2, -1, flat.argmax(1))
    right, total = (
        array.reshape(len(array), len(chosen), -1)[:, np.arange(len(chosen)), chosen] for array in (hits, cases)
    )
    baseline = Evaluated(chosen, offset.accuracy[chosen % relations], offset.samples[:, chosen % relations])
    gain = evaluate(right, total, chosen, selecting, seed).above(baseline)
    number = np.where(chosen < 0, np.nan, chosen % relations).reshape(heads)
    direction = np.where(chosen < 0, np.nan, chosen // relations).reshape(heads)
    value, low, high = (array.reshape(heads) for array in gain)
    return {
        **_with_interval("relation_gain", HEAD_DIMS, (value, low, high)),
        "relation_of_head": (HEAD_DIMS, number),
        "direction_of_head": (HEAD_DIMS, direction),
    }


def _by_candidate(array: np.ndarray) -> np.ndarray:
    """[sentence, candidate, relation]: a candidate is a head in a direction."""
    return array.reshape(len(array), -1, array.shape[-1])


def _with_interval(name: str, dims: tuple[str, ...], triple: Triple) -> dict[str, Any]:
    value, low, high = triple
    return {name: (dims, value), f"{name}_low": (dims, low), f"{name}_high": (dims, high)}


def _spell(number: int, shape: tuple[int, ...], layout: Layout) -> tuple[str, str]:
    if number < 0:
        return "", ""
    stack, layer, head, direction = (int(index) for index in np.unravel_index(number, shape))
    return layout.spell(Head(list(layout.stacks)[stack], layer, head)), DIRECTIONS[direction]
