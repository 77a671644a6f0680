"""From gates pushed up and down to the role of each head: scores for each seed, and one role where all seeds agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.core.claims import ROLES, find_role
from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema

PAPER = "Nam 2025"
CATEGORY = "Roles by gates"
SCORES = {
    "facilitation": Schema(
        "Facilitation: the gate that is pushed towards 0",
        "gate",
        "1: the model needs the head; mean over seeds",
        (0, 1),
        category=CATEGORY,
        paper=PAPER,
    ),
    "interference": Schema(
        "Interference: 1 minus the gate that is pushed towards 1",
        "gate",
        "1: the head hurts; mean over seeds",
        (0, 1),
        category=CATEGORY,
        paper=PAPER,
    ),
    "irrelevance": Schema(
        "Irrelevance: the gate goes wherever it is pushed",
        "gate",
        "1: the head makes no difference; mean over seeds",
        (0, 1),
        category=CATEGORY,
        paper=PAPER,
    ),
}
SCHEMAS = {
    "role": Schema(
        "Role by gates",
        "",
        "the score that is above one half in every seed",
        names=(*ROLES, "unclear"),
        category=CATEGORY,
        paper=PAPER,
    ),
    **SCORES,
    "seed_range": Schema(
        "Largest difference of a score between seeds",
        "gate",
        "0: all seeds agree",
        (0, 1),
        category=CATEGORY,
        paper=PAPER,
    ),
    **{
        f"{name}_{end}": Schema(f"{name.capitalize()}, {which} of the seeds", "gate", range=(0, 1), shown=False)
        for name in SCORES
        for end, which in (("least", "the smallest"), ("most", "the largest"))
    },
}


def role_scores(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """[role, ...] from gates that were pushed towards 1 and towards 0: facilitation, interference, irrelevance.

    >>> role_scores(np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return np.stack([down, 1 - up, up * (1 - down)])


def score_arrays(up: np.ndarray, down: np.ndarray) -> dict[str, tuple[Any, ...]]:
    """The scores of every head over the seeds, and its role, from gates [seed, stack, layer, head]."""
    scores = role_scores(up, down)
    arrays: dict[str, tuple[Any, ...]] = {"role": (HEAD_DIMS, find_role(scores))}
    for name, values in zip(SCORES, scores, strict=True):
        arrays[name] = (HEAD_DIMS, values.mean(0))
        arrays[f"{name}_least"], arrays[f"{name}_most"] = (HEAD_DIMS, values.min(0)), (HEAD_DIMS, values.max(0))
    arrays["seed_range"] = (HEAD_DIMS, np.ptp(scores, axis=1).max(0))
    return arrays
