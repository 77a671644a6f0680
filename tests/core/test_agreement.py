"""Rank correlations between sweeps."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.agreement import compare_effects


def test_stacks_apart_and_together() -> None:
    generator = np.random.default_rng(0)
    effects = generator.normal(size=(2, 3, 4))
    coords = {"stack": ["encoder", "cross"]}
    first = xr.DataArray(effects, dims=("stack", "layer", "head"), coords=coords)
    turned = first.copy()
    turned[1] = -turned[1]
    rows = {row.stack: row for row in compare_effects("a", first, "b", turned)}
    assert rows["encoder"].correlation == 1
    assert rows["cross"].correlation == -1
    assert rows["all"].count == 24
