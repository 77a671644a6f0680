"""A model keeps at least one head, whatever the budget: one without any could not be cut or loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headcount.budgets.blocks import Block
from headcount.core.units import SUFFIX


def with_a_head(blocks: Sequence[Block]) -> list[list[Block]]:
    """What may be kept so that a head stays: the blocks once for each attention block that may be the one to keep it.

    The best of all sets that leave a head is the best one of these. Where a head stays anyway, just the blocks.
    """
    attention = [number for number, block in enumerate(blocks) if not block.key[0].endswith(SUFFIX)]
    if not attention or any(blocks[number].options[0] for number in attention):
        return [list(blocks)]
    return [
        [*blocks[:number], _not_empty(blocks[number]), *blocks[number + 1 :]]
        for number in attention
        if blocks[number].count
    ]


def _not_empty(block: Block) -> Block:
    return replace(block, options=block.options[1:], costs=block.costs[1:])
