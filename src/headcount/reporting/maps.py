"""Attention maps for a page: a byte a weight, packed layer by layer, so that a click unpacks one layer alone."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import xarray as xr

from headcount.reporting.view import View

LEVELS = (256, 64, 32, 16)
"""How many shades a map may have: as many as fit into the room."""
ROOM = 14_000_000
"""Bytes for all maps of a page."""


def find_maps(view: View, room: int = ROOM) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What the maps are of, and by id the packed layers, as text."""
    found = view.of("maps")
    for levels in LEVELS:
        blobs: dict[str, str] = {}
        told = [_one(place, name, dataset, levels, blobs) for place, (name, dataset) in enumerate(found.items())]
        if sum(map(len, blobs.values())) <= room or levels == LEVELS[-1]:
            break
    return told, blobs


def _one(place: int, name: str, dataset: xr.Dataset, levels: int, blobs: dict[str, str]) -> dict[str, Any]:
    attributes = dataset.attrs
    stacks = []
    for key in dataset.data_vars:
        if not str(key).startswith("maps_"):
            continue
        stack = str(key).removeprefix("maps_")
        array = dataset[str(key)]
        layers = []
        for layer in range(array.shape[0]):
            mark = f"map-{place}-{stack}-{layer}"
            blobs[mark] = pack(array.isel({array.dims[0]: layer}).values, levels)
            layers.append(mark)
        queries, keys = (_tokens(dataset, str(dim)) for dim in array.dims[-2:])
        stacks.append({"stack": stack, "shape": list(array.shape), "queries": queries, "keys": keys, "layers": layers})
    return {"name": name, "text": attributes.get("text", ""), "pair": attributes.get("pair"),
            "model": str(attributes.get("model", "")), "levels": levels, "stacks": stacks}  # fmt: skip


def _tokens(dataset: xr.Dataset, dim: str) -> list[str]:
    """The tokens along a dimension: those of the queries stand for the keys of the same text."""
    for name in (f"tokens_{dim}", "tokens"):
        if name in dataset:
            return [str(token) for token in dataset[name].values]
    raise KeyError(dim)


def pack(layer: np.ndarray, levels: int = 256) -> str:
    """The maps of a layer [head, query, key] as text: differences from row to row, deflated, base64.

    Rows of a map are alike, so that their differences pack more tightly than they do.
    """
    step = 256 // levels
    coarse = (
        layer if step == 1 else np.minimum((layer.astype(np.uint16) + step // 2) // step * step, 255).astype(np.uint8)
    )
    rows = coarse.astype(np.uint8).copy()
    rows[:, 1:] -= coarse[:, :-1]  # wraps around, and back again
    return base64.b64encode(zlib.compress(rows.tobytes(), 6)).decode("ascii")


def unpack(text: str, shape: tuple[int, int, int]) -> np.ndarray:
    """What the page does: the bytes [head, query, key] of a packed layer."""
    rows = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(shape)
    return np.cumsum(rows, axis=1, dtype=np.uint8)
