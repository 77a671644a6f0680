"""The heads of a circuit from its result, in a model with several stacks."""

from __future__ import annotations

import xarray as xr

from headcount.core.circuits import circuit_heads
from headcount.core.heads import HeadSet, Layout
from headcount.core.results import by_head, head_coords


def test_heads_that_are_marked() -> None:
    layout = Layout.even({"encoder": (2, 2), "decoder": (1, 3)})
    wanted = HeadSet.of("encoder.L1H0, decoder.L0H2", layout)
    code = {head: float(head in wanted) if head.stack == "encoder" or head.head else float("nan") for head in layout}
    marked = xr.Dataset(
        {"in_circuit": (("stack", "layer", "head"), by_head(code, layout))}, coords=dict(head_coords(layout))
    )
    assert circuit_heads(marked, layout).heads == wanted.heads
