"""A copy of a layer, or of a whole model, with fewer heads and units: to run it, not to keep it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from torch import nn

from headcount.models.attention import Attention
from headcount.models.feed_forward import FeedForward
from headcount.models.shrink import shrink_layer, shrink_units
from headcount.models.surgery import label_heads, label_units

Block = Attention | FeedForward
M = TypeVar("M", bound=nn.Module)


def thinner_copy(module: M, blocks: Iterable[Block], counts: Mapping[tuple[str, int], int]) -> M:
    """A copy of `module` in which the blocks keep their first heads or units, as many as `counts` says.

    Blocks that are not in `counts` stay as they are. What is not cut shares its memory with the original, so that a
    copy costs no more than what it keeps of the blocks.
    """
    shared: dict[int, Any] = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    shared |= {id(part.config): part.config for part in module.modules() if hasattr(part, "config")}
    names = {part: name for name, part in module.named_modules()}
    copied = copy.deepcopy(module, shared)
    for block in blocks:
        if block.layer_key in counts:
            _keep(block, copied.get_submodule(names[block.layer_module]), counts[block.layer_key])
    return copied


def _keep(block: Block, layer: nn.Module, count: int) -> None:
    if isinstance(block, Attention):
        label_heads(block, layer.get_submodule(block.plan.attention))
        shrink_layer(layer, asdict(block.plan), list(block.heads[:count]))
    else:
        label_units(block, layer.get_submodule(block.plan.output))
        shrink_units(layer, asdict(block.plan), list(block.units[:count]))
