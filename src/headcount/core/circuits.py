"""The heads of a circuit that was found, from its result."""

from __future__ import annotations

import xarray as xr

from headcount.core.heads import HeadSet, Layout


def circuit_heads(found: xr.Dataset, layout: Layout) -> HeadSet:
    """The heads that `in_circuit` of a result marks."""
    values, stacks = found["in_circuit"].values, [str(stack) for stack in found["stack"].values]
    heads = [
        head for head in layout if head.stack in stacks and values[stacks.index(head.stack), head.layer, head.head] == 1
    ]
    return HeadSet.of(heads, layout)
