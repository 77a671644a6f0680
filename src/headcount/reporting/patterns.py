"""Patterns for the page: their shares, how reliable the rule that names them is, and typical maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.reporting.maps import deflate_layer, is_causal
from headcount.reporting.published import find_published_patterns
from headcount.reporting.view import View, number

LEVELS = 64
"""Shades of a typical map."""


def read_patterns(view: View) -> dict[str, Any] | None:
    """Shares of patterns among all maps and for each head, and how reliable the names are; None if not measured."""
    _, dataset = find_pattern_result(view)
    if dataset is None:
        return None
    ends = {"share": "share", "low": "share_low", "high": "share_high"}
    heads = {key: _by_head(view, dataset[array], "pattern") for key, array in ends.items()}
    return {
        "names": [str(name) for name in dataset["pattern"].values],
        "stacks": _stacks(dataset),
        **heads,
        "confusion": dataset.attrs["confusion"],
        "rule": dataset.attrs["rule"],
        "published": find_published_patterns(view.task),
        # Older results have neither.
        "f1": dataset.attrs.get("f1"),
        "reliability": dataset.attrs.get("reliability"),
    }


def find_pattern_result(view: View) -> tuple[str, xr.Dataset | None]:
    """The result of the patterns and its name: preferably one with typical maps, then one without a name of its own."""
    results = {name: result for name, result in view.of("measures").items() if name.split("@")[0] == "patterns"}
    name = min(results, key=lambda name: (_typical_of(name) not in view.of("patterns"), "@" in name), default="")
    return name, results.get(name)


def _typical_of(name: str) -> str:
    """The name of the typical maps that belong to a result."""
    return f"typical{name.removeprefix('patterns')}"


def _by_head(view: View, array: xr.DataArray, dim: str) -> list[list[float | None]]:
    """For every head of the layout, the values along a further dimension."""
    columns = [view.by_head(array.isel({dim: index})) for index in range(array.sizes[dim])]
    return [list(row) for row in zip(*columns, strict=True)]


def _stacks(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """For each stack that has patterns, their shares among all its maps, with intervals, and in each layer."""
    stacks = []
    for index, stack in enumerate(map(str, dataset["stack"].values)):
        if not np.isfinite(dataset["whole_share"].values[index]).all():
            continue  # cross attention
        share = dataset["share"].isel(stack=index).transpose("layer", "head", "pattern").values
        layers = [
            [number(float(value)) for value in np.nanmean(row, axis=0)] if np.isfinite(row).any() else None
            for row in share
        ]
        while layers and layers[-1] is None:
            layers.pop()  # arrays are as deep as the deepest stack
        ends = {"share": "", "low": "_low", "high": "_high"}
        whole = {
            key: [number(float(value)) for value in dataset[f"whole_share{end}"].values[index]]
            for key, end in ends.items()
        }
        stacks.append({"stack": stack, **whole, "layers": layers})
    return stacks


def find_typical(view: View) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """A description of the typical maps with their texts, and the packed maps of each layer by id."""
    name, _ = find_pattern_result(view)
    dataset = view.of("patterns").get(_typical_of(name))
    if dataset is None:
        return None, {}
    maps = dataset["maps"]
    side = maps.sizes["query"]
    blobs: dict[str, str] = {}
    stacks = []
    for index, stack in enumerate(map(str, dataset["stack"].values)):
        ids = []
        for layer in range(maps.sizes["layer"]):
            ids.append(f"typical-{stack}-{layer}")
            blobs[ids[-1]] = deflate_layer(maps.values[index, layer].reshape(-1, side, side), LEVELS)
        shape = [maps.sizes["layer"], maps.sizes["head"] * maps.sizes["kind"], side, side]
        named = np.nan_to_num(dataset["named"].values[index], nan=-1).astype(int).tolist()
        stacks.append(
            {
                "stack": stack,
                "shape": shape,
                "layers": ids,
                "causal": is_causal(np.nan_to_num(maps.values[index]).reshape(-1, side, side)),
                "named": named,
                "text": dataset["text"].values[index].tolist(),
            }
        )
    kinds, texts = ([str(value) for value in dataset[name].values] for name in ("kind", "texts"))
    return {"kinds": kinds, "texts": texts, "stacks": stacks}, blobs
