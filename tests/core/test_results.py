"""Numbers per head as labelled arrays and back to tables."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.heads import Layout
from headcount.core.results import as_table, by_head, by_layer, head_coords

LAYOUT = Layout({"encoder": ((0, 2), (1,)), "cross": ((0,),)})


def test_absent_heads_are_nan() -> None:
    values = {head: number for number, head in enumerate(LAYOUT)}
    filled = by_head(values, LAYOUT)
    assert filled.shape == (2, 2, 3)
    assert int(np.isfinite(filled).sum()) == 4
    assert filled[0, 0, 2] == 1
    assert filled[1, 0, 0] == 3
    assert by_layer({("encoder", 1): [1, 2], ("cross", 0): [3, 4]}, LAYOUT)[0, 1].tolist() == [1, 2]


def test_tables_leave_absent_heads_out() -> None:
    score = by_head({head: number for number, head in enumerate(LAYOUT)}, LAYOUT)
    dataset = xr.Dataset({"score": (("stack", "layer", "head"), score), "whole": 1.0}, coords=head_coords(LAYOUT))
    table = as_table(dataset)
    assert len(table) == 4
    assert table.loc[1, ["stack", "layer", "head"]].tolist() == ["encoder", 0, 2]
