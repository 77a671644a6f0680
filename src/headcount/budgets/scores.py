"""The scores of heads and units, and their slopes by example, block by block, from a result of `importance`."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.units import SUFFIX
from headcount.models.anatomy import Anatomy
from headcount.trace.edits import LayerKey


def read_scores(anatomy: Anatomy, estimates: xr.Dataset, score: str) -> dict[LayerKey, np.ndarray]:
    """By block, the score of each of its heads or units."""
    return _by_block(anatomy, estimates, score, f"unit_{score}")


def read_slopes(anatomy: Anatomy, estimates: xr.Dataset) -> dict[LayerKey, np.ndarray]:
    """By block, the slopes [example, head or unit] of the loss in the gates, up to their sign."""
    return _by_block(anatomy, estimates, "values_taylor", "values_unit_taylor")


def _by_block(anatomy: Anatomy, estimates: xr.Dataset, heads: str, units: str) -> dict[LayerKey, np.ndarray]:
    found: dict[LayerKey, np.ndarray] = {}
    stacks = [str(stack) for stack in estimates["stack"].values]
    for block in anatomy.blocks():
        stack, layer = block.layer_key
        of_units = stack.endswith(SUFFIX)
        stack = stack.removesuffix(SUFFIX)
        numbers = anatomy.feed_forward(stack, layer).units if of_units else anatomy.attention(stack, layer).heads
        values = estimates[units if of_units else heads].values
        found[block.layer_key] = values[..., stacks.index(stack), layer, list(numbers)].astype(float)
    return found
