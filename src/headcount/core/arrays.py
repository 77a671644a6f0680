"""Arrays of a study: how they are chunked, compressed and written, and how a result is read from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from headcount.core.checked_store import CheckedStore
from headcount.core.manifest import visible
from headcount.core.results import ArrayPlan, fill_value

EVERY_CHUNK = {"array.write_empty_chunks": True}
"""Chunks that hold only the fill value are written too, so that a missing chunk is a lost one."""
# On real maps and scores the lowest level compresses about as well as higher ones do.
CODECS = (ZstdCodec(level=1), Crc32cCodec())


def plan_array(group: zarr.Group, name: str, plan: ArrayPlan, examples: int) -> None:
    """An empty array with a chunk for each unit of work, which has this many examples."""
    sizes = {"example": examples, "work_unit": 1}
    group.create_array(
        name,
        shape=plan.shape,
        chunks=tuple(max(1, sizes.get(dim, length)) for dim, length in zip(plan.dims, plan.shape, strict=True)),
        dtype=plan.dtype,
        dimension_names=plan.dims,
        compressors=CODECS,
        fill_value=fill_value(plan.dtype),
        attributes=dict(plan.attributes),
    )


def put_array(
    group: zarr.Group, name: str, labelled: tuple[Any, ...], overwrite: bool = False, by_layer: bool = False
) -> None:
    """Write a whole array, given as its dimensions, its values and perhaps its attributes.

    `by_layer`: a chunk for each entry of the first dimension.
    """
    dims, values, *attributes = labelled
    values = np.asarray(values)
    text = values.dtype.kind in "UO"
    sizes = (1, *values.shape[1:]) if by_layer else values.shape
    with zarr.config.set(EVERY_CHUNK):
        array = group.create_array(
            name,
            shape=values.shape,
            chunks=tuple(max(1, size) for size in sizes),
            compressors=CODECS,
            dtype="string" if text else values.dtype,
            dimension_names=dims,
            overwrite=overwrite,
            fill_value=fill_value("string" if text else str(values.dtype)),  # what is lost reads as unknown, not as 0
            attributes=dict(*attributes),
        )
        if values.size:
            array[...] = values.astype(object) if text else values


def open_result(store: CheckedStore, name: str) -> xr.Dataset:
    """A result, read lazily, without the attributes that only the checks need."""
    # Units are for people: with decode_times xarray would turn values in "ms" into dates.
    result = xr.open_dataset(store, engine="zarr", group=name, consolidated=False, zarr_format=3, decode_times=False)
    result.attrs = visible(result.attrs)
    return result
