"""Results made by hand whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

NAN = np.nan
ONE = [[[0.1, 0.5], [0.7, -0.3], [0.2, NAN]]]
TWO = [[[0.1, 0.2], [0.3, NAN]], [[0.4, 0.9], [NAN, NAN]]]


def dataset(stacks: str = "encoder", extra: dict[str, list[str]] | None = None, **values: Any) -> xr.Dataset:
    """Variables [stack, layer, head, ...] with intervals 0.1 below and 0.2 above, or as given."""
    dims = ("stack", "layer", "head", *(extra or {}))
    arrays = {}
    for name, given in values.items():
        array = np.asarray(given, dtype=float)
        arrays[name] = (dims, array)
        for end, shift in (("low", -0.1), ("high", 0.2)):
            if f"{name}_{end}" not in values and not name.endswith(("_low", "_high")):
                arrays[f"{name}_{end}"] = (dims, array + shift)
    first = next(iter(arrays.values()))[1]
    coords = {"stack": stacks.split(), "layer": range(first.shape[1]), "head": range(first.shape[2]), **(extra or {})}
    return xr.Dataset(arrays, coords={name: list(values) for name, values in coords.items()})


def tree(attrs: dict[str, Any] | None = None, **found: xr.Dataset) -> xr.DataTree:
    made = xr.DataTree.from_dict(found)
    made.attrs = attrs or {}
    return made
