"""Attribution in rows and sentences: the largest first, with their positions if there are such."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.story.attribution import attribution_rows, attribution_sentences


def result(at_position: bool) -> xr.Dataset:
    values = np.array([[[0.1, -0.9, np.nan]]])
    arrays = {
        f"attribution{end}": (("stack", "layer", "head"), values + add)
        for end, add in (("", 0), ("_low", -0.2), ("_high", 0.2))
    }
    if at_position:
        parts = np.stack([values / 3, 2 * values / 3], -1)
        arrays |= {
            f"at_position{end}": (("stack", "layer", "head", "position"), parts) for end in ("", "_low", "_high")
        }
    sides = {f"{side}{end}": 1.5 for side in ("clean", "corrupted") for end in ("", "_low", "_high")}
    return xr.Dataset(
        arrays | sides,
        coords={"stack": ["decoder"], "layer": [0], "head": range(3), "position": ["first", "last"]},
        attrs={"metric": "logit_difference", "direction": "noise"},
    ).assign_coords(example=range(7))


def test_rows() -> None:
    assert attribution_rows(result(False)) == [
        ("L0H1", "-0.9000", "-1.1000 to -0.7000"),
        ("L0H0", "+0.1000", "-0.1000 to +0.3000"),
    ]
    assert [row[0] for row in attribution_rows(result(True), 2)] == ["L0H1 at last", "L0H1 at first"]


def test_sentences() -> None:
    both, heads = attribution_sentences(result(False))
    assert both.startswith("Logit_difference is 1.500 [1.500, 1.500] on the clean input and")
    assert "(7 pairs" in both
    assert heads == (
        "Expected change on the clean input with a head of the corrupted one: 1 of 2 heads have an interval without 0 "
        "(not corrected for their number)."
    )
