"""Attribution in rows and sentences: the heads whose patch is expected to change the metric most."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.story.names import interval_of, spell_head, spell_interval

COLUMNS = ("head", "expected change", "95 % interval")
MOST = 10
ESTIMATE = (
    "This is an estimate to first order, which fails for saturated heads; for the exact changes of the heads that rank "
    "highest: headcount sweep ... --how patch --screen attribution"
)


def attribution_rows(result: xr.Dataset, most: int = MOST) -> list[tuple[str, ...]]:
    """The heads with the largest estimates (at single positions, if there are such), in the order of COLUMNS."""
    variable = "at_position" if "at_position" in result else "attribution"
    values = result[variable].values
    order = np.argsort(-np.nan_to_num(np.abs(values), nan=-1).ravel(), kind="stable")[:most]
    rows: list[tuple[str, ...]] = []
    for place in zip(*np.unravel_index(order, values.shape), strict=True):
        value, low, high = (float(result[f"{variable}{end}"].values[place]) for end in ("", "_low", "_high"))
        if np.isfinite(value):
            at = f" at {result['position'].values[place[3]]}" if variable == "at_position" else ""
            name = spell_head(result, place[:3], result.sizes["stack"] > 1) + at
            rows.append((name, f"{value:+.4f}", f"{low:+.4f} to {high:+.4f}"))
    return rows


def attribution_sentences(result: xr.Dataset) -> list[str]:
    """What both inputs score, and what all estimates together say."""
    metric = result.attrs["metric"]
    clean, corrupted = (spell_interval(interval_of(result, name)) for name in ("clean", "corrupted"))
    ran, given = ("corrupted", "clean") if result.attrs["direction"] == "denoise" else ("clean", "corrupted")
    low, high = result["attribution_low"].values, result["attribution_high"].values
    known = int(np.isfinite(low).sum())
    sure = int(((low > 0) | (high < 0)).sum())
    inputs = f"{metric[0].upper()}{metric[1:]} is {clean} on the clean input and {corrupted} on the corrupted one"
    expected = f"Expected change on the {ran} input with a head of the {given} one"
    return [
        f"{inputs} ({result.sizes['example']} pairs, 95 % intervals).",
        f"{expected}: {sure} of {known} heads have an interval without 0 (not corrected for their number).",
    ]
