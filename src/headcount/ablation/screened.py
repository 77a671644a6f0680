"""What may screening have missed? Why each head was run or not, and how many heads that were not run may matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices, Screened
from headcount.core.claims import CONFIDENCE, significant
from headcount.core.proportions import most_in_population
from headcount.core.results import HEAD_DIMS, PAIR, by_head
from headcount.core.schema import Schema
from headcount.core.statistics import false_discovery
from headcount.core.sweep_schemas import ABLATED

NOT_RUN, TOP, CONTROL = range(3)
SELECTED = Schema(
    "Why the head was run",
    direction="top: ranked highest by the estimate; control: drawn at random among the others",
    names=("not run", "top", "control"),
    category=ABLATED,
    rank=100,
)


PAIR_SELECTED = replace(SELECTED, title="Why the pair was run")


def why_run(choices: Choices) -> dict[str, tuple[Any, ...]]:
    """`selected` [stack, layer, head] or [head_pair]: 0 for what is not run, 1 for the top ones, 2 for the control."""
    if choices.paired is not None and choices.paired.screened is not None:
        pairs = choices.paired.screened
        codes = np.repeat([TOP, CONTROL], [len(pairs.top), len(pairs.control)]).astype(float)
        return {"selected": ((PAIR,), codes, PAIR_SELECTED.attributes())}
    screened = choices.screened
    if screened is None:
        return {}
    reasons = {head: NOT_RUN for head in choices.layout if screened.stack in (None, head.stack)}
    reasons |= dict.fromkeys(screened.top, TOP) | dict.fromkeys(screened.control, CONTROL)
    return {"selected": (HEAD_DIMS, by_head(reasons, choices.layout), SELECTED.attributes())}


def missed_effects(choices: Choices, screened: Screened, delta: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """How many of the heads that were not run may have an effect, from the changes and p-values [choice].

    `missed_effect`: the change that counts as an effect, the smallest significant one among the top heads or, if none
    is significant, their median. `missed_control`: how many heads of the control change the score by more.
    `missed_high`: how many of those that were not run do so at most, with 95 % confidence. The control is a random
    sample of all heads that are not top, and the threshold depends on the top heads alone, so the bound is exact: it
    is about the changes on these examples.
    """
    top = np.isin([str(head) for head in choices.keys], [str(head) for head in screened.top])
    return missed_among(top, screened.of, delta, p)


def missed_among(top: np.ndarray, of: int, delta: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """As `missed_effects`, for whatever was run: which are top ones (the others are the control), of how many."""
    sizes = np.abs(delta)
    certain = sizes[top][significant(false_discovery(p[top], of))]
    threshold = float(certain.min() if len(certain) else np.median(sizes[top]))
    beyond = int((sizes[~top] > threshold + 1e-12).sum())
    others, drawn = of - int(top.sum()), int((~top).sum())
    most = int(most_in_population(np.array(beyond), drawn, others, CONFIDENCE)) if drawn else others
    return {"missed_effect": threshold, "missed_control": float(beyond), "missed_high": float(most - beyond)}
