"""Names of heads, layers and models in sentences, and numbers with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import ENDS


def spell_head(dataset: xr.Dataset, index: Sequence[Any], stacked: bool) -> str:
    """The name of the head at an index along (stack, layer, head), with its stack if `stacked`."""
    stack, layer, head = (dataset[dim].values[at] if dim in dataset.coords else at for dim, at in _along(index))
    return f"{f'{stack}.' if stacked else ''}L{int(layer)}H{int(head)}"


def spell_unit(dataset: xr.Dataset, index: Sequence[Any], stacked: bool) -> str:
    """The name of the feed-forward unit at an index along (stack, layer, unit), with its stack if `stacked`."""
    return f"{spell_layer(dataset, index[:2], stacked)}U{int(dataset['unit'].values[int(index[-1])])}"


def spell_layer(dataset: xr.Dataset, index: Sequence[Any], stacked: bool) -> str:
    """The name of the layer at an index along (stack, layer), with its stack if `stacked`."""
    stack, layer = (dataset[dim].values[at] if dim in dataset.coords else at for dim, at in _along(index))
    return f"{f'{stack}.' if stacked else ''}L{int(layer)}"


def _along(index: Sequence[Any]) -> list[tuple[str, int]]:
    return list(zip(("stack", "layer", "head"), map(int, index), strict=False))


def spell_interval(values: tuple[float, float, float], digits: int = 3, signed: bool = False) -> str:
    """A value with its interval, or without one where there are too few examples for it.

    >>> spell_interval((0.5, 0.4, 0.61)), spell_interval((0.5, -0.4, 0.6), 1, signed=True)
    ('0.500 [0.400, 0.610]', '+0.5 [-0.4, +0.6]')
    """
    value, low, high = (f"{number:{'+' if signed else ''}.{digits}f}" for number in values)
    if not np.isfinite(values[1:]).all():
        return f"{value}, no interval"
    return f"{value} [{low}, {high}]"


def digits_for(low: float, high: float) -> int:
    """How many digits after the point an estimate with this interval deserves: two of the interval's width.

    >>> digits_for(0.68, 0.82), digits_for(0.51, 0.54), digits_for(-3.0, 40.0), digits_for(0.5, 0.5)
    (2, 3, 0, 3)
    """
    width = abs(high - low)
    if not np.isfinite(width) or width < 1e-9:
        return 3
    return max(0, min(6, 1 - math.floor(math.log10(width))))


def spell_estimate(values: tuple[float, float, float], signed: bool = False) -> str:
    """A value with its interval, with as many digits as the interval leaves room for.

    >>> spell_estimate((0.7512, 0.68, 0.8231)), spell_estimate((-0.0123, -0.02, -0.005), signed=True)
    ('0.75 [0.68, 0.82]', '-0.012 [-0.020, -0.005]')
    """
    return spell_interval(values, digits_for(values[1], values[2]), signed)


def spell_score(value: float, digits: int = 3, signed: bool = False) -> str:
    """A score, or its change, with as many digits as a table has room for: perplexities may be very large.

    >>> spell_score(0.8765), spell_score(34.4567), spell_score(1294.31, signed=True)
    ('0.876', '34.46', '+1,294')
    """
    digits = max(0, digits - sum(abs(value) >= size for size in (10, 100, 1000)))
    return f"{value:{'+' if signed else ''},.{digits}f}"


def interval_of(row: xr.Dataset, name: str) -> tuple[float, float, float]:
    """A value of a row (one relation, one head) with the ends of its interval."""
    value, low, high = (float(row[f"{name}{end}"]) for end in ENDS)
    return value, low, high


def in_points(values: tuple[float, float, float]) -> tuple[float, float, float]:
    """A share and its interval, in percent.

    >>> in_points((0.5, 0.25, 0.75))
    (50.0, 25.0, 75.0)
    """
    value, low, high = (100 * number for number in values)
    return value, low, high


def spell_direction(probed: xr.Dataset, direction: str) -> str:
    """The first of the two directions of a probe as ->, the second as <-."""
    return "->" if direction == str(probed["direction"].values[0]) else "<-"


def short_name(model: str) -> str:
    """The last part of a path, the full name of a model on the hub, or the name of a bundled model.

    >>> short_name("/home/me/models/tuned/"), short_name("google/bert"), short_name("lib/headcount/zoo/data/qnli")
    ('tuned', 'google/bert', 'bundled:qnli')
    """
    parts = [part for part in str(model).replace("\\", "/").split("/") if part]
    if parts[-3:-1] == ["zoo", "data"]:
        return f"bundled:{parts[-1]}"
    if not parts:
        return str(model)
    return "/".join(parts[-2:]) if len(parts) == 2 and not str(model).startswith(("/", ".")) else parts[-1]
