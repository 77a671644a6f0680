"""Estimators of importance side by side: their extreme heads, how stable they are, and how well they predict."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from headcount.story.names import spell_head, spell_interval, spell_unit

Correlation = tuple[float, float, float]
"""A rank correlation with its interval."""
SPLITS = "halves agree: rank correlation between two halves of the examples [95 % of 50 random splits]."
PREDICTS = "predicts ablation: rank correlation with the effect of removing the head [95 % interval over heads]."
NEEDS_SWEEP = "For the last column: headcount sweep ... --by head --how zero into the same study."


def importance_rows(
    importance: xr.Dataset, halves: Mapping[str, Correlation], predicted: Mapping[str, Correlation] | None
) -> list[tuple[str, ...]]:
    """Rows: an estimator, its most and least important head or unit, its stability, how well it predicts ablation."""
    stacked = importance.sizes["stack"] > 1
    rows = []
    for name, stable in halves.items():
        values = importance[name].values
        ends = [np.unravel_index(pick(values), values.shape) for pick in (np.nanargmax, np.nanargmin)]
        spell = spell_unit if "unit" in importance[name].dims else spell_head
        parts = [f"{spell(importance, index, stacked)} {values[index]:.3g}" for index in ends]
        known = "-" if predicted is None or name not in predicted else spell_interval(predicted[name], 2)
        rows.append((name, *parts, spell_interval(stable, 2), known))
    return rows
