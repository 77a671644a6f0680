"""The numbers of each head where cues are right and where they are wrong, as labelled arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.core.heads import Layout
from headcount.core.mean_changes import mean_changes
from headcount.core.results import HEAD_DIMS, by_head, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import false_discovery
from headcount.statistical_cues.head_effects import (
    Parts,
    accuracy_changes,
    as_triple,
    change_of_reliance,
    resampled,
    selectivity,
)

_CATEGORY, _UNIT = "Statistical cues", "log-odds"


def _of_head(title: str, unit: str, direction: str, **more: Any) -> Schema:
    return Schema(title, unit, direction, signed=True, category=_CATEGORY, **more)


SCHEMAS = {
    "reliance": Schema("Reliance on cues", _UNIT, "log-odds of the right label where cues are right, minus wrong"),
    "evidence": Schema("Evidence beyond cues", _UNIT, "log-odds of the right label, mean of the two parts"),
    "cue_effect": _of_head(
        "Change of reliance on cues without it",
        _UNIT,
        "below 0: the model relies on cues less without the head, so it carries them",
        rank=1,
    ),
    "effect_right": _of_head(
        "Effect where cues are right", _UNIT, "change of the right label's log-odds without the head"
    ),
    "effect_wrong": _of_head(
        "Effect where cues are wrong", _UNIT, "change of the right label's log-odds without the head"
    ),
    "accuracy_right": _of_head("Change of accuracy where cues are right", "share", "without the head"),
    "accuracy_wrong": _of_head("Change of accuracy where cues are wrong", "share", "without the head"),
    "selectivity": _of_head(
        "Cues rather than other evidence",
        "share",
        "share of the reliance that is lost without the head, minus the share of the evidence; 0: weakens both alike",
    ),
    "cue_effect_p": Schema("p-value", "", "that reliance on cues does not change", (0, 1), shown=False),
    "cue_effect_q": Schema("q-value", "", "p-value corrected for the number of heads", (0, 1), shown=False),
    "cue": Schema("Cue word"),
    "cue_right": Schema("Cues right", "", "1: right, 0: wrong, in between: they point nowhere", (0, 1)),
    "right_examples": Schema("Examples where cues are right", range=(0, None)),
    "wrong_examples": Schema("Examples where cues are wrong", range=(0, None)),
}


def summarise_heads(
    baseline: np.ndarray,
    odds: np.ndarray,
    was_right: np.ndarray,
    right: np.ndarray,
    parts: Parts,
    layout: Layout,
    seed: int,
) -> dict[str, tuple[Any, ...]]:
    """From log-odds and right/wrong of the whole model [example] and without each head [head, example]."""
    changes = odds - baseline
    heads = list(layout)

    def arrange(values: np.ndarray) -> np.ndarray:
        return by_head(dict(zip(heads, values, strict=True)), layout)

    reliance, evidence = resampled(baseline[None], parts, seed)
    change = change_of_reliance(changes, parts, seed)
    by_part = {
        "effect_right": _mean(changes[:, parts.right], seed),
        "effect_wrong": _mean(changes[:, parts.wrong], seed),
        "accuracy_right": accuracy_changes(was_right, right, parts.right),
        "accuracy_wrong": accuracy_changes(was_right, right, parts.wrong),
        "cue_effect": (change.delta, change.low, change.high),
        "selectivity": selectivity(baseline, changes, parts, seed),
    }
    arrays: dict[str, tuple[Any, ...]] = {
        **with_interval("reliance", (), [values[0] for values in as_triple(reliance)]),
        **with_interval("evidence", (), [values[0] for values in as_triple(evidence)]),
        "cue_effect_p": (HEAD_DIMS, arrange(change.p)),
        "cue_effect_q": (HEAD_DIMS, arrange(false_discovery(change.p))),
    }
    for name, triple in by_part.items():
        arrays |= with_interval(name, HEAD_DIMS, [arrange(values) for values in triple])
    return dict(with_schemas(arrays, SCHEMAS))


def _mean(changes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tested = mean_changes(changes, np.ones(changes.shape[1]), seed)
    return tested.delta, tested.low, tested.high
