"""Estimators side by side: the heads that they name are those of their numbers."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.story.importance import importance_rows

VALUES = np.array([[[0.1, 0.5], [np.nan, 0.2]]])
HALVES = {"michel": (0.91, 0.85, 0.96), "taylor": (0.5, 0.4, 0.6)}


def importance(stacks: int = 1) -> xr.Dataset:
    values = np.concatenate([VALUES, VALUES + 1])[:stacks]
    coords = {"stack": ["encoder", "cross"][:stacks], "layer": [0, 1], "head": [0, 1]}
    return xr.Dataset({"michel": (HEAD_DIMS, values), "taylor": (HEAD_DIMS, -values)}, coords=coords)


def test_rows() -> None:
    assert importance_rows(importance(), HALVES, None) == [
        ("michel", "L0H1 0.5", "L0H0 0.1", "0.91 [0.85, 0.96]", "-"),
        ("taylor", "L0H0 -0.1", "L0H1 -0.5", "0.50 [0.40, 0.60]", "-"),
    ]


def test_what_they_predict() -> None:
    predicted = {"michel": (0.7, 0.6, 0.8), "taylor": (0.9, 0.8, 1.0)}
    assert [row[-1] for row in importance_rows(importance(), HALVES, predicted)] == [
        "0.70 [0.60, 0.80]",
        "0.90 [0.80, 1.00]",
    ]


def test_heads_of_several_stacks() -> None:
    assert importance_rows(importance(2), HALVES, None)[0][1:3] == ("cross.L0H1 1.5", "encoder.L0H0 0.1")
