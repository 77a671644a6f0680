"""For each relation the best head beside the best simple rule; for each head the relation that it follows best."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.core.heads import Head, Layout
from headcount.core.results import HEAD_DIMS, Labelled
from headcount.probing.selection.accuracies import Evaluated, Triple, accuracies, accuracy_interval, evaluate
from headcount.probing.selection.baselines import Baselines

NOWHERE = -2
"""Below every difference of two accuracies: a head that does not exist, or has no cases."""


def every_head(hits: np.ndarray, cases: np.ndarray, seed: int) -> Labelled:
    """The accuracy of every head for every relation, on all sentences."""
    dims = (*HEAD_DIMS, "direction", "relation")
    arrays = _with_interval("accuracy", dims, accuracy_interval(hits, cases, seed))
    counted = np.nan_to_num(cases.sum(0)).max((1, 2)).astype(int)
    return {**arrays, "cases": (("stack", "direction", "relation"), counted)}


def best_heads(
    hits: np.ndarray,
    cases: np.ndarray,
    against: Baselines,
    layout: Layout,
    seed: int,
    random_hits: np.ndarray | None = None,
) -> dict[str, tuple[Any, ...]]:
    """For each relation the head and direction furthest above the best rule, and what it gets on the other half.

    `hits` and `cases` [sentence, stack, layer, head, direction, relation]. `best_rule` is the number of the best rule,
    -1 without cases. `random_hits` are those of the model with random weights: its best head is selected alike, among
    the directions that have the same cases.
    """
    relations = np.arange(hits.shape[-1])
    best = _furthest(hits, cases, against, seed)
    direction = np.where(best.index < 0, 0, best.index % len(against.directions))
    column = np.where(best.index < 0, -1, against.column(direction, relations))
    rule = against.best.take(column)
    dims = ("relation",)
    named = [_spell(int(number), hits.shape[1:5], layout, against.directions) for number in best.index]
    arrays: dict[str, tuple[Any, ...]] = {
        "best_head": (dims, np.array([head for head, _ in named], dtype=object)),
        "best_direction": (dims, np.array([way for _, way in named], dtype=object)),
        "best_rule": (dims, rule.index),
        "held_out_cases": (dims, against.held_out(direction, relations)),
        **_with_interval("best_accuracy", dims, best.interval()),
        **_with_interval("gain", dims, best.above(rule)),
        **_relations_of_heads(hits, cases, against, seed),
    }
    for name, evaluated in against.baselines.items():
        arrays |= _with_interval(name, dims, evaluated.take(column).interval())
    if random_hits is not None:
        alike = (against.cases == against.cases[:, direction, relations][:, None]).all(0)
        random = _furthest(np.where(alike, random_hits, np.nan), np.where(alike, cases, np.nan), against, seed)
        arrays |= _with_interval("baseline_random_weights", dims, random.interval())
    return arrays


def _furthest(hits: np.ndarray, cases: np.ndarray, against: Baselines, seed: int) -> Evaluated:
    """For each relation the head and direction whose accuracy is furthest above that of the best rule.

    Where both directions have the same cases, that is the one with the highest accuracy.
    """
    selecting = against.selecting
    ahead = accuracies(hits[selecting], cases[selecting]) - against.selected
    flat = np.nan_to_num(_by_candidate(ahead[None])[0], nan=NOWHERE)
    index = np.where(flat.max(0) <= NOWHERE, -1, flat.argmax(0))
    columns = np.arange(hits.shape[-1])
    right, total = (_by_candidate(array)[:, index, columns] for array in (hits, cases))
    return evaluate(right, total, index, selecting, seed)


def _relations_of_heads(hits: np.ndarray, cases: np.ndarray, against: Baselines, seed: int) -> Labelled:
    """For each head the relation and direction that it follows furthest beyond the best rule, and by how much.

    Selected like the rule, on one half; the gain is that on the other.
    """
    heads, relations, selecting = hits.shape[1:4], hits.shape[-1], against.selecting
    ahead = accuracies(hits[selecting], cases[selecting]) - against.selected
    ahead[..., 0] = np.nan  # all relations together are none
    flat = np.nan_to_num(ahead, nan=NOWHERE).reshape(-1, len(against.directions) * relations)
    chosen = np.where(flat.max(1) <= NOWHERE, -1, flat.argmax(1))
    right, total = (
        array.reshape(len(array), len(chosen), -1)[:, np.arange(len(chosen)), chosen] for array in (hits, cases)
    )
    gain = evaluate(right, total, chosen, selecting, seed).above(against.best.take(chosen))
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


def _spell(number: int, shape: tuple[int, ...], layout: Layout, directions: tuple[str, ...]) -> tuple[str, str]:
    if number < 0:
        return "", ""
    stack, layer, head, direction = (int(index) for index in np.unravel_index(number, shape))
    return layout.spell(Head(list(layout.stacks)[stack], layer, head)), directions[direction]
