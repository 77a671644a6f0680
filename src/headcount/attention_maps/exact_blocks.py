"""Which blocks of a long text's maps are kept token by token, beside the maps between its stretches.

Along the text, at equal distances from its first to its last tokens: each time the block on the diagonal, where tokens
look at their neighbours, and the block of the first keys, where attention sinks are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE = 48
"""Queries and keys of a block: few enough that the page can name each."""
MOST_POSITIONS, MOST_BYTES = 8, 32 * 10**6
"""So many positions along the text, or fewer if the blocks of all heads would take more bytes."""


@dataclass(frozen=True)
class ExactBlocks:
    """Blocks of `queries` by `keys` tokens; `starts` are their first query and key."""

    queries: int
    keys: int
    starts: tuple[tuple[int, int], ...]


def plan_blocks(queries: int, keys: int, heads: int) -> ExactBlocks:
    """The blocks of a map of so many queries and keys, kept for so many heads.

    >>> plan_blocks(1000, 1000, 144).starts[:3]
    ((0, 0), (136, 136), (136, 0))
    """
    size = min(SIZE, queries), min(SIZE, keys)
    most = MOST_BYTES // (2 * heads * size[0] * size[1])
    positions = max(1, min(MOST_POSITIONS, most))
    last = queries - size[0], keys - size[1]
    lines = [np.linspace(0, each, positions).round().astype(int) for each in last]
    starts = [(int(query), first) for query, key in zip(*lines, strict=True) for first in dict.fromkeys((int(key), 0))]
    return ExactBlocks(*size, tuple(dict.fromkeys(starts)))
