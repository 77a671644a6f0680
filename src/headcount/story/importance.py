"""Estimators of importance side by side: their extreme heads, how stable they are, and how well they predict."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from headcount.story.names import spell_head, spell_interval

Correlation = tuple[float, float, float]
"""A rank correlation with its interval."""
SPLITS = "halves agree: rank correlation between two halves of the examples [95 % of 50 random splits]."
PREDICTS = "predicts ablation: rank correlation with the effect of removing the head [95 % interval over heads]."
NEEDS_SWEEP = "For the last column: headcount sweep ... --by head --how zero into the same study."


def importance_rows(
    importance: xr.Dataset, halves: Mapping[str, Correlation], predicted: Mapping[str, Correlation] | None
) -> list[tuple[str, ...]]:
    """Rows: an estimator, its most and least important head, its stability, how well it predicts ablation."""
    stacked = importance.sizes["stack"] > 1
    rows = []
    for name, stable in halves.items():
        values = importance[name].values
        ends = [np.unravel_index(pick(values), values.shape) for pick in (np.nanargmax, np.nanargmin)]
        heads = [f"{spell_head(importance, index, stacked)} {values[index]:.3g}" for index in ends]
        rows.append(
            (name, *heads, spell_interval(stable, 2), "-" if predicted is None else spell_interval(predicted[name], 2))
        )
    return rows
