"""Which heads or units of a block go, when those that go are looked at together: Kwon et al. 2022's rearrangement.

Sums of scores leave out that two parts may do the same, or the opposite. To the second order, removing the parts m (1
for those that go) costs m^T F m / 2 with F = G^T G / N, from the slopes G [example, part]: that is |G m|^2 / 2N. A part
that goes and one that stays are swapped as long as this falls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headcount.budgets.blocks import Block, removed_of, selection_of
from headcount.core.units import Selection
from headcount.models.anatomy import Anatomy
from headcount.trace.edits import LayerKey

LEAST = 1e-9
"""A swap must lower the cost by at least this share of what all parts cost: less is rounding."""


def rearrange(
    anatomy: Anatomy, blocks: Sequence[Block], selection: Selection, slopes: Mapping[LayerKey, np.ndarray]
) -> Selection:
    """As many heads and units of every block as in `selection`, swapped until no swap within a block lowers its cost.

    `slopes`: by block, those of each example [example, head or unit].
    """
    removed = []
    for block in blocks:
        gone = removed_of(selection, block)
        bundles = np.array([gone[list(bundle)].all() for bundle in block.bundles])
        found = swap_parts(bundles, block.pooled(np.asarray(slopes[block.key], dtype=float)))
        removed.append((block, [index for number in np.flatnonzero(found) for index in block.bundles[number]]))
    return selection_of(anatomy, removed)


def swap_parts(gone: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """[part]: which parts go after the swaps, from those that went before and slopes [example, part]."""
    gone = gone.copy()
    if gone.all() or not gone.any():
        return gone
    squares = np.einsum("np,np->p", slopes, slopes)
    least = LEAST * squares.sum()
    while True:
        shared = slopes.T @ slopes[:, gone].sum(1)
        before, (back, out) = np.flatnonzero(gone), (squares[gone] - 2 * shared[gone], squares + 2 * shared)
        out[gone] = np.inf
        # |Gm - g_i + g_j|^2 - |Gm|^2 without the product of both, which is the only part that needs all pairs.
        swapped = False
        for at in np.argsort(back, kind="stable"):
            one = before[at]
            change = back[at] + out - 2 * (slopes.T @ slopes[:, one])
            other = int(np.argmin(change))
            if change[other] < -least:
                gone[one], gone[other], swapped = False, True, True
                break
        if not swapped:
            return gone
