"""The output projections of a model's blocks: their weights, kept apart from the model, and new ones put in place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.attention import Attention
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import read_weight
from headcount.models.feed_forward import FeedForward
from headcount.models.shrink import dim_of

BlockKey = tuple[str, int]
"""The key of an attention or feed-forward block in a session."""


@dataclass(frozen=True, eq=False)
class OutputWeights:
    """A copy of the output projection of one block.

    `matrix`: [column, width], with `size` columns for each of `parts`, the numbers of the heads or units.
    """

    matrix: Tensor
    bias: Tensor | None
    parts: tuple[int, ...]
    size: int

    def columns(self, parts: Collection[int]) -> list[int]:
        """The columns of some heads or units."""
        index = {part: number for number, part in enumerate(self.parts)}
        return [index[part] * self.size + column for part in parts for column in range(self.size)]


@takes_compiled
def read_output_weights(
    model: PreTrainedModel, keys: Collection[BlockKey] | None = None
) -> dict[BlockKey, OutputWeights]:
    """By block, or for some of them, a copy of its output projection, which outlives a cut of the model."""
    anatomy = read_anatomy(model)
    found = {}
    for key in all_keys(anatomy) if keys is None else keys:
        block = anatomy.block(key)
        bias = getattr(block.output, "bias", None)
        found[key] = OutputWeights(
            block.output_matrix.clone(),
            None if bias is None else read_weight(block.output, "bias").clone(),
            parts_of(block),
            block.size,
        )
    return found


def all_keys(anatomy: Anatomy) -> list[BlockKey]:
    """The keys of all blocks, also of those that have lost everything."""
    attention = [block.layer_key for layers in anatomy.stacks.values() for block in layers]
    return attention + [block.layer_key for blocks in anatomy.feed_forwards.values() for block in blocks]


def parts_of(block: Attention | FeedForward) -> tuple[int, ...]:
    """The numbers of a block's heads or units."""
    return block.heads if isinstance(block, Attention) else block.units


@torch.no_grad()
def write_output(block: Attention | FeedForward, matrix: Tensor, bias: Tensor | None) -> None:
    """Put new values [column, width] into a block's output projection, in its own dtype."""
    output: Any = block.output
    output.weight.copy_(matrix.T if dim_of(output, "in") else matrix)
    if bias is not None:
        output.bias.copy_(bias)
