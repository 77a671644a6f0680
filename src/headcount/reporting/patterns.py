"""The patterns of heads' maps for a page: their shares, the mistakes of the rule that named them, typical maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.reporting.maps import deflate_layer
from headcount.reporting.published import find_published_patterns
from headcount.reporting.view import View, number

LEVELS = 64
"""Shades of a typical map, which is looked at as a whole."""


def read_patterns(view: View) -> dict[str, Any] | None:
    """The shares of patterns, of all maps and of each head's, and how good the names are; None without the measure."""
    _, dataset = measured(view)
    if dataset is None:
        return None
    names = [str(one) for one in dataset["pattern"].values]
    ends = {"share": "share", "low": "share_low", "high": "share_high"}
    heads = {key: _by_head(view, dataset[array], "pattern") for key, array in ends.items()}
    task = next((str(found.attrs["task"]) for found in view.results.values() if "task" in found.attrs), "")
    return {
        "names": names,
        "stacks": _stacks(dataset),
        **heads,
        "confusion": dataset.attrs["confusion"],
        "rule": dataset.attrs["rule"],
        "published": find_published_patterns(task),
        # Results of before these were measured have neither.
        "f1": dataset.attrs.get("f1"),
        "reliability": dataset.attrs.get("reliability"),
    }


def measured(view: View) -> tuple[str, xr.Dataset | None]:
    """A result of the measure and its name: one with typical maps before others, then one without a name of its own."""
    found = {name: one for name, one in view.of("measures").items() if name.split("@")[0] == "patterns"}
    name = min(found, key=lambda one: (_typical_of(one) not in view.of("patterns"), "@" in one), default="")
    return name, found.get(name)


def _typical_of(name: str) -> str:
    """The name of the typical maps that belong to a result of the measure."""
    return f"typical{name.removeprefix('patterns')}"


def _by_head(view: View, array: xr.DataArray, dim: str) -> list[list[float | None]]:
    """For every head of the layout the values along a further dimension."""
    columns = [view.by_head(array.isel({dim: place})) for place in range(array.sizes[dim])]
    return [list(row) for row in zip(*columns, strict=True)]


def _stacks(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """For each stack that has patterns the shares of all its maps, with intervals, and those of each layer."""
    found = []
    for place, stack in enumerate(map(str, dataset["stack"].values)):
        if not np.isfinite(dataset["whole_share"].values[place]).all():
            continue  # cross attention
        share = dataset["share"].isel(stack=place).transpose("layer", "head", "pattern").values
        layers = [
            [number(float(one)) for one in np.nanmean(row, axis=0)] if np.isfinite(row).any() else None for row in share
        ]
        while layers and layers[-1] is None:
            layers.pop()  # arrays are as deep as the deepest stack
        ends = {"share": "", "low": "_low", "high": "_high"}
        whole = {
            key: [number(float(one)) for one in dataset[f"whole_share{end}"].values[place]] for key, end in ends.items()
        }
        found.append({"stack": stack, **whole, "layers": layers})
    return found


def find_typical(view: View) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Where the typical maps are, whose texts they have, and by id the packed maps, layer by layer."""
    name, _ = measured(view)
    dataset = view.of("patterns").get(_typical_of(name))
    if dataset is None:
        return None, {}
    maps = dataset["maps"]
    side = maps.sizes["query"]
    blobs: dict[str, str] = {}
    stacks = []
    for place, stack in enumerate(map(str, dataset["stack"].values)):
        marks = []
        for layer in range(maps.sizes["layer"]):
            marks.append(f"typical-{stack}-{layer}")
            blobs[marks[-1]] = deflate_layer(maps.values[place, layer].reshape(-1, side, side), LEVELS)
        shape = [maps.sizes["layer"], maps.sizes["head"] * maps.sizes["kind"], side, side]
        named = np.nan_to_num(dataset["named"].values[place], nan=-1).astype(int).tolist()
        stacks.append(
            {
                "stack": stack,
                "shape": shape,
                "layers": marks,
                "named": named,
                "text": dataset["text"].values[place].tolist(),
            }
        )
    kinds = [str(one) for one in dataset["kind"].values]
    return {"kinds": kinds, "texts": [str(one) for one in dataset["texts"].values], "stacks": stacks}, blobs
