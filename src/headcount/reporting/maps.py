"""Attention maps for the page: one byte per weight, packed layer by layer, so that a click unpacks a single layer."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import xarray as xr

from headcount.errors import StudyProblem
from headcount.reporting.view import View
from headcount.story.names import short_name

LEVELS = (256, 128, 64, 32, 16)
"""Numbers of shades; the page uses the largest that fits into ROOM."""
ROOM = 14_000_000
"""Bytes for all maps of a page."""


def find_maps(view: View, room: int = ROOM) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Descriptions of the maps, and the packed layers by id, as text."""
    results = view.of("maps")
    for levels in LEVELS:
        last = levels == LEVELS[-1]
        if not last and _estimate_size(results, levels) > room:
            continue
        blobs: dict[str, str] = {}
        described = [
            _describe_maps(index, name, dataset, levels, blobs) for index, (name, dataset) in enumerate(results.items())
        ]
        if last or sum(map(len, blobs.values())) <= room:
            break
    return described, blobs


def _estimate_size(results: dict[str, xr.Dataset], levels: int) -> int:
    """The approximate packed size of all maps, from the middle layer of each stack."""
    arrays = [
        array
        for dataset in results.values()
        for name, array in dataset.items()
        if str(name).startswith(("maps_", "blocks_"))
    ]
    return sum(len(deflate_layer(array.values[len(array) // 2], levels)) * len(array) for array in arrays if len(array))


def _describe_maps(index: int, name: str, dataset: xr.Dataset, levels: int, blobs: dict[str, str]) -> dict[str, Any]:
    attributes = dataset.attrs
    stacks = []
    for key in dataset.data_vars:
        if not str(key).startswith("maps_"):
            continue
        stack = str(key).removeprefix("maps_")
        array = dataset[str(key)]
        layers = []
        for layer in range(array.shape[0]):
            layers.append(f"map-{index}-{stack}-{layer}")
            blobs[layers[-1]] = deflate_layer(array.isel({array.dims[0]: layer}).values, levels)
        queries, keys = (tokens_of(dataset, str(dim)) for dim in array.dims[-2:])
        described: dict[str, Any] = {
            "stack": stack,
            "shape": list(array.shape),
            "queries": queries,
            "keys": keys,
            "layers": layers,
            "causal": is_causal(array.values),
        }
        if f"blocks_{stack}" in dataset:
            described["blocks"] = _describe_blocks(index, dataset, stack, levels, blobs)
        stacks.append(described)
    return {
        "name": name,
        "text": _pooled(attributes) + attributes.get("text", ""),
        "pair": attributes.get("pair"),
        "model": short_name(str(attributes.get("model", ""))),
        "levels": levels,
        "pooled": int(attributes.get("pooled", 1)),
        "stacks": stacks,
    }


def _describe_blocks(index: int, dataset: xr.Dataset, stack: str, levels: int, blobs: dict[str, str]) -> dict[str, Any]:
    """The blocks of a long text's maps that are exact: head after head, and of each head block after block."""
    array = dataset[f"blocks_{stack}"]
    layers, heads, count, queries, keys = array.shape
    ids = [f"block-{index}-{stack}-{layer}" for layer in range(layers)]
    for layer, id_ in enumerate(ids):
        blobs[id_] = deflate_layer(array.isel({array.dims[0]: layer}).values, levels)
    return {
        "shape": [layers, heads * count, queries, keys],
        "layers": ids,
        "starts": dataset[f"block_starts_{stack}"].values.tolist(),
        "queries": dataset[f"block_query_tokens_{stack}"].values.tolist(),
        "keys": dataset[f"block_key_tokens_{stack}"].values.tolist(),
    }


def is_causal(maps: np.ndarray) -> bool:
    """Whether no token of any map [..., query, key] looks at a later one."""
    square = maps.shape[-1] == maps.shape[-2] > 2
    return square and not any(np.triu(layer, 1).any() for layer in maps)


def _pooled(attributes: dict[str, Any]) -> str:
    """What a cell of a long text's maps is; nothing where it is a pair of tokens."""
    count = attributes.get("pooled", 1)
    return "" if count == 1 else f"(each cell {count} x {count} tokens) "


def tokens_of(dataset: xr.Dataset, dim: str) -> list[str]:
    """The tokens along a dimension such as `query` or `key_encoder`."""
    for name in (f"tokens_{dim.rpartition('_')[2]}", "tokens"):
        if name in dataset:
            return [str(token) for token in dataset[name].values]
    raise StudyProblem(f"the study is damaged: a result lacks the tokens of {dim!r}; restore it, or compute it again")


def deflate_layer(layer: np.ndarray, levels: int = 256) -> str:
    """The maps of a layer [head, query, key] as text, rounded to `levels` shades, deflated and in base64.

    Weights hardly repeat, so run lengths and Huffman codes alone (Z_RLE) pack them as tightly, and eight times as fast.
    """
    step = 256 // levels
    coarse = layer if step == 1 else np.minimum((layer.astype(np.uint16) + step // 2) // step * step, 255)
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return base64.b64encode(packer.compress(coarse.astype(np.uint8).tobytes()) + packer.flush()).decode("ascii")
