"""Patterns as rows and sentences, on results made by hand whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.story.patterns import pattern_rows
from tests.story.trees import NAN, dataset


def patterns(stacks: str, shares: Any) -> xr.Dataset:
    """Shares [stack, layer, head, pattern] of three patterns, and what follows from them."""
    names = ["vertical", "diagonal", "block"]
    made = dataset(stacks, extra={"pattern": names}, share=shares)
    array = np.asarray(shares, dtype=float)
    known = ~np.isnan(array[..., 0])
    made["mostly"] = made["share"].dims[:3], np.where(known, np.nan_to_num(array, nan=-1).argmax(-1), NAN)
    whole = made["share"].mean(("layer", "head"))
    return made.assign(whole_share=whole, whole_share_low=whole - 0.05, whole_share_high=whole + 0.1)


def test_pattern_rows() -> None:
    shares = [[[[0.6, 0.4, 0], [0.9, 0.1, 0]], [[0.1, 0.7, 0.2], [0.8, 0.2, 0]], [[1, 0, 0], [0.6, 0, 0.4]]]]
    found = patterns("encoder", shares)
    assert pattern_rows(found, "encoder") == [
        ("vertical", "67 [62, 77]", "5", "L2H0, L0H1, L1H1"),
        ("diagonal", "23 [18, 33]", "1", "L1H0"),
        ("block", "10 [5, 20]", "0", ""),
    ]
    assert pattern_rows(found, "encoder", named=1)[0][3] == "L2H0"
    # Of heads that are equally clear, the earlier ones; all of them where there is room.
    assert pattern_rows(found, "encoder", named=9)[0][3] == "L2H0, L0H1, L1H1, L0H0, L2H1"


def test_pattern_rows_of_several_stacks() -> None:
    """Heads that a stack does not have are none of its heads."""
    found = patterns("encoder decoder", [[[[1, 0, 0], [0, 1, 0]]], [[[0, 0.2, 0.8], [NAN, NAN, NAN]]]])
    assert pattern_rows(found, "encoder") == [
        ("vertical", "50 [45, 60]", "1", "encoder.L0H0"),
        ("diagonal", "50 [45, 60]", "1", "encoder.L0H1"),
        ("block", "0 [-5, 10]", "0", ""),
    ]
    assert pattern_rows(found, "decoder")[2] == ("block", "80 [75, 90]", "1", "decoder.L0H0")
    assert [row[2] for row in pattern_rows(found, "decoder")] == ["0", "0", "1"]
    assert pattern_rows(found.sel(stack=["decoder"]), "decoder")[2][3] == "L0H0"
