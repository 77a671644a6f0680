"""For each relation the best head beside the best simple rule; for each head the relation that it follows best."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.core.heads import Head, Layout
from headcount.core.results import HEAD_DIMS, Labelled, with_interval
from headcount.probing.selection.accuracies import Evaluated, accuracies, accuracy_interval, evaluate
from headcount.probing.selection.baselines import Baselines

NOWHERE = -2
"""Below every difference of two accuracies: a head that does not exist, or has no cases."""


def every_head(hits: np.ndarray, cases: np.ndarray, seed: int) -> Labelled:
    """The accuracy of every head for every relation, on all sentences.

    `hits` [sentence, stack, layer, head, direction, relation], NaN where there is no such head or it is not looked at;
    `cases` [sentence, direction, relation], the same for all heads.
    """
    dims = (*HEAD_DIMS, "direction", "relation")
    looked_at = ~np.isnan(hits[0]).all((1, 2, 3, 4))
    counted = looked_at[:, None, None] * cases.sum(0).astype(int)
    return {
        **with_interval("accuracy", dims, accuracy_interval(hits, cases, seed)),
        "cases": (("stack", "direction", "relation"), counted),
    }


def best_heads(
    hits: np.ndarray, rules: Baselines, layout: Layout, seed: int, random_hits: np.ndarray | None = None
) -> dict[str, tuple[Any, ...]]:
    """For each relation the head and direction furthest above the best rule, and what it gets on the other half.

    `hits` [sentence, stack, layer, head, direction, relation], NaN where there is no such head. `best_rule` is the
    number of the best rule, -1 without cases. `random_hits` are those of the model with random weights: its best head
    is selected alike, among the directions that have the same cases.
    """
    relations = np.arange(hits.shape[-1])
    best = _furthest(hits, rules, seed)
    direction = np.where(best.index < 0, 0, best.index % len(rules.directions))
    column = np.where(best.index < 0, -1, rules.column(direction, relations))
    rule = rules.best.take(column)
    dims = ("relation",)
    arrays: dict[str, tuple[Any, ...]] = {
        **name_best(best.index, hits.shape[1:5], layout, rules.directions),
        "best_rule": (dims, rule.index),
        "held_out_cases": (dims, rules.held_out(direction, relations)),
        **with_interval("best_accuracy", dims, best.interval()),
        **with_interval("gain", dims, best.above(rule)),
        **_relations_of_heads(hits, rules, seed),
    }
    for name, evaluated in rules.baselines.items():
        arrays |= with_interval(name, dims, evaluated.take(column).interval())
    if random_hits is not None:
        alike = (rules.cases == rules.cases[:, direction, relations][:, None]).all(0)
        arrays |= with_interval("baseline_random_weights", dims, _furthest(random_hits, rules, seed, alike).interval())
    return arrays


def _ahead(hits: np.ndarray, rules: Baselines) -> np.ndarray:
    """How far each head is above the best rule on the selecting half; `NOWHERE` without such a head or enough cases."""
    ahead = accuracies(hits, rules.cases, rules.selecting) - rules.selected
    return np.where(np.isnan(ahead) | ~rules.considered, NOWHERE, ahead)


def _furthest(hits: np.ndarray, rules: Baselines, seed: int, among: np.ndarray | None = None) -> Evaluated:
    """For each relation the head and direction whose accuracy is furthest above that of the best rule.

    Where both directions have the same cases, that is the one with the highest accuracy. `among` [direction, relation]:
    only these.
    """
    ahead = _ahead(hits, rules)
    if among is not None:
        ahead = np.where(among, ahead, NOWHERE)
    relations = np.arange(hits.shape[-1])
    flat = ahead.reshape(-1, len(relations))
    index = np.where(flat.max(0) <= NOWHERE, -1, flat.argmax(0))
    right = hits.reshape(len(hits), -1, len(relations))[:, index, relations]
    return evaluate(right, rules.cases[:, index % len(rules.directions), relations], index, rules.selecting, seed)


def _relations_of_heads(hits: np.ndarray, rules: Baselines, seed: int) -> Labelled:
    """For each head the relation and direction that it follows furthest beyond the best rule, and by how much.

    Selected like the rule, on one half; the gain is that on the other.
    """
    heads, relations = hits.shape[1:4], hits.shape[-1]
    ahead = _ahead(hits, rules)
    ahead[..., 0] = NOWHERE  # all relations together are none
    flat = ahead.reshape(-1, len(rules.directions) * relations)
    chosen = np.where(flat.max(1) <= NOWHERE, -1, flat.argmax(1))
    right = hits.reshape(len(hits), len(chosen), -1)[:, np.arange(len(chosen)), chosen]
    total = rules.cases.reshape(len(hits), -1)[:, chosen]
    gain = evaluate(right, total, chosen, rules.selecting, seed).above(rules.best.take(chosen))
    number = np.where(chosen < 0, np.nan, chosen % relations).reshape(heads)
    direction = np.where(chosen < 0, np.nan, chosen // relations).reshape(heads)
    return {
        **with_interval("relation_gain", HEAD_DIMS, [array.reshape(heads) for array in gain]),
        "relation_of_head": (HEAD_DIMS, number),
        "direction_of_head": (HEAD_DIMS, direction),
    }


def name_best(index: np.ndarray, shape: tuple[int, ...], layout: Layout, directions: tuple[str, ...]) -> Labelled:
    """`best_head` and `best_direction` of each relation, by flat indices into [stack, layer, head, direction].

    Both are empty for -1: there is none.
    """
    named = np.full((2, len(index)), "", dtype=object)
    for relation in np.flatnonzero(index >= 0):
        stack, layer, head, direction = (int(at) for at in np.unravel_index(index[relation], shape))
        named[:, relation] = layout.spell(Head(list(layout.stacks)[stack], layer, head)), directions[direction]
    return {"best_head": (("relation",), named[0]), "best_direction": (("relation",), named[1])}
