"""From scores of heads and units to a set that is removed: what each number of kept ones loses, and which ones go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headcount.budgets.blocks import Block, selection_of
from headcount.core.units import Selection
from headcount.models.anatomy import Anatomy
from headcount.trace.edits import LayerKey


def losses_of(scores: np.ndarray, block: Block) -> np.ndarray:
    """[option]: the sum of the scores of those that go, if the smallest go; a bundle has the sum of its scores."""
    ordered = np.concatenate([[0.0], np.cumsum(np.sort(block.pooled(np.asarray(scores, dtype=float))))])
    found: np.ndarray = ordered[_bundles_removed(block)]
    return found


def select(
    anatomy: Anatomy, blocks: Sequence[Block], scores: Mapping[LayerKey, np.ndarray], counts: Sequence[int]
) -> Selection:
    """The heads and units that go if block i keeps its option number `counts[i]`: those with the smallest scores."""
    removed = []
    for block, option in zip(blocks, counts, strict=True):
        order = np.argsort(block.pooled(np.asarray(scores[block.key], dtype=float)), kind="stable")
        going = order[: _bundles_removed(block)[option]]
        removed.append((block, [index for bundle in going for index in block.bundles[bundle]]))
    return selection_of(anatomy, removed)


def _bundles_removed(block: Block) -> np.ndarray:
    return (block.count - np.array(block.options)) // block.size
