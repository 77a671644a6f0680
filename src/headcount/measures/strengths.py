"""How strong are the roles of heads: the excess over chance, as a share of the largest excess that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.core.results import HEAD_DIMS, with_interval
from headcount.core.schema import STRENGTH
from headcount.core.statistics import mean_above_zero, share_interval
from headcount.measures.contract import Question, roles_of


def strengths_of_roles(measure: Question, values: dict[str, np.ndarray], seed: int) -> dict[str, tuple[Any, ...]]:
    """For each role of a measure its strength, the interval and a p-value, from values [example, stack, layer, head].

    The strength is the sum of (value - chance) over the texts, divided by that of (largest - chance). A text is drawn
    with its value and its chance level, so that the interval is that of the paired excess. p: one-sided paired t-test
    of the hypothesis that the value is at chance or below it.
    """
    arrays: dict[str, tuple[Any, ...]] = {}
    for variable in roles_of(measure.schemas):
        baseline = measure.schemas[variable].baseline
        if isinstance(baseline, str) and baseline not in values:
            continue  # a model without [SEP] has no such variable
        value, chance, largest = measure.scale_of(variable, values)
        excess = np.asarray(value - chance, dtype=np.float32)
        possible = np.broadcast_to(np.asarray(largest - chance, dtype=np.float32), excess.shape)
        name = f"{variable}{STRENGTH}"
        arrays |= with_interval(name, HEAD_DIMS, share_interval(excess, possible, seed=seed))
        arrays[f"{name}_p"] = (HEAD_DIMS, mean_above_zero(excess))
    return arrays
