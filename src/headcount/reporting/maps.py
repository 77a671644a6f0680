"""Attention maps for a page: a byte a weight, packed layer by layer, so that a click unpacks one layer alone."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import xarray as xr

from headcount.errors import StudyProblem
from headcount.reporting.view import View

LEVELS = (256, 128, 64, 32, 16)
"""How many shades a map may have: as many as fit into the room."""
ROOM = 14_000_000
"""Bytes for all maps of a page."""


def find_maps(view: View, room: int = ROOM) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What the maps are of, and by id the packed layers, as text."""
    found = view.of("maps")
    for levels in LEVELS:
        last = levels == LEVELS[-1]
        if not last and _guess(found, levels) > room:
            continue
        blobs: dict[str, str] = {}
        told = [_one(place, name, dataset, levels, blobs) for place, (name, dataset) in enumerate(found.items())]
        if last or sum(map(len, blobs.values())) <= room:
            break
    return told, blobs


def _guess(found: dict[str, xr.Dataset], levels: int) -> int:
    """About how long all maps are when they are packed: one layer in the middle stands for its stack."""
    arrays = [array for dataset in found.values() for name, array in dataset.items() if str(name).startswith("maps_")]
    return sum(len(deflate_layer(array.values[len(array) // 2], levels)) * len(array) for array in arrays if len(array))


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
            blobs[mark] = deflate_layer(array.isel({array.dims[0]: layer}).values, levels)
            layers.append(mark)
        queries, keys = (_tokens(dataset, str(dim)) for dim in array.dims[-2:])
        stacks.append({"stack": stack, "shape": list(array.shape), "queries": queries, "keys": keys, "layers": layers})
    return {
        "name": name,
        "text": attributes.get("text", ""),
        "pair": attributes.get("pair"),
        "model": str(attributes.get("model", "")),
        "levels": levels,
        "stacks": stacks,
    }


def _tokens(dataset: xr.Dataset, dim: str) -> list[str]:
    """The tokens along a dimension such as `query` or `key_encoder`: both sides of a text have the same."""
    for name in (f"tokens_{dim.rpartition('_')[2]}", "tokens"):
        if name in dataset:
            return [str(token) for token in dataset[name].values]
    raise StudyProblem(f"the study is damaged: a result lacks the tokens of {dim!r}; restore it, or compute it again")


def deflate_layer(layer: np.ndarray, levels: int = 256) -> str:
    """The maps of a layer [head, query, key] as text: deflated, base64; with fewer levels, rounded to them.

    Weights are noise to a dictionary of repeats: runs and letter frequencies alone pack them as tightly, and eight
    times as fast.
    """
    step = 256 // levels
    coarse = layer if step == 1 else np.minimum((layer.astype(np.uint16) + step // 2) // step * step, 255)
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return base64.b64encode(packer.compress(coarse.astype(np.uint8).tobytes()) + packer.flush()).decode("ascii")
