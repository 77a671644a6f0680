"""The effects of heads through other heads, in rows and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.story.names import spell_interval
from headcount.story.notes import blank_note, cut_note

COLUMNS = ("from", "through", "of", "change", "q")
MOST = 20
"""Paths that a table lists."""
DIMS = ("sender", "receiver", "into")


def path_rows(found: xr.Dataset, most: int = MOST) -> list[tuple[str, ...]]:
    """The paths with the largest effects, in the order of COLUMNS."""
    rows: list[tuple[str, ...]] = []
    for place in _by_effect(found)[:most]:
        one = found.isel(dict(zip(DIMS, place, strict=True)))
        rows.append(
            (
                str(one["sender"].values),
                str(one["into"].values),
                str(one["receiver"].values),
                spell_interval(_change(one), signed=True),
                f"{float(one['q']):.2g}",
            )
        )
    return rows


def path_sentences(found: xr.Dataset) -> list[str]:
    """How many paths have an effect, and which has the largest."""
    attributes, metric = found.attrs, found.attrs["metric"]
    known = np.isfinite(found["delta"].values)
    clear = significant(found["q"].values)
    tested = f"{int(known.sum()):,} path{'s' if known.sum() > 1 else ''} tested on {found.sizes['example']:,} examples"
    notes = [*cut_note(attributes), *blank_note(attributes)]
    if not clear.any():
        return [f"No path has a significant effect on {metric} (q < {LEVEL}, {tested}).", *notes]
    place = next(place for place in _by_effect(found) if clear[tuple(place)])
    one = found.isel(dict(zip(DIMS, place, strict=True)))
    into = str(one["into"].values)
    reads = "query, key and value" if into == "all" else into
    largest = (
        f"The largest of them is that of {one['sender'].values} through the {reads} of {one['receiver'].values}: "
        f"{metric} changes by {spell_interval(_change(one), signed=True)} from {float(found['baseline']):.3f}."
    )
    count = int(clear.sum())
    return [
        f"{count:,} path{'s have' if count > 1 else ' has'} a significant effect on {metric} (q < {LEVEL}, {tested}).",
        largest,
        *notes,
    ]


def _change(one: xr.Dataset) -> tuple[float, float, float]:
    return float(one["delta"]), float(one["low"]), float(one["high"])


def _by_effect(found: xr.Dataset) -> Sequence[Any]:
    """The places of the paths, those with the largest effects first."""
    effects = np.abs(found["delta"].transpose(*DIMS).values)
    places = np.argwhere(np.isfinite(effects))
    return [places[number].tolist() for number in np.argsort(-effects[tuple(places.T)], kind="stable")]
