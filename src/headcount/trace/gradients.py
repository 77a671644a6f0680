"""How a loss depends on every attention weight: the gradient of each layer's map, one layer at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.attention import AttentionCall
from headcount.trace.wiring import OutputEdit, Place, edited


class _Leaf(OutputEdit):
    """Keeps a layer's head outputs [B, Q, heads, size] as something that has a gradient."""

    def __init__(self) -> None:
        self.outputs: Tensor | None = None

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        self.outputs = outputs if outputs.requires_grad else outputs.detach().requires_grad_()
        return self.outputs


@takes_compiled
def each_map_gradient(
    model: PreTrainedModel,
    batch: Mapping[str, Any],
    objective: Callable[[Any], Tensor],
    look: Callable[[AttentionCall, Tensor], None],
) -> None:
    """Call `look` with every layer's attention call and the gradient [B, H, Q, K] of `objective(result)` in its map.

    A head's output is its map times its values, so the map's gradient is the output's times the values: no map has to
    be kept for it, and one layer's gradient is there at a time.
    """
    leaves: dict[Place, _Leaf] = {(block.stack, block.layer): _Leaf() for block in read_anatomy(model)}
    calls: dict[Place, AttentionCall] = {}

    def hear(call: AttentionCall) -> None:
        calls[call.block.stack, call.block.layer] = call

    with torch.inference_mode(False), torch.enable_grad(), edited(model, leaves, "gradients", hear):
        loss = objective(model(**batch))
    places = list(leaves)
    outputs = [leaves[place].outputs for place in places]
    found = torch.autograd.grad(loss, [one for one in outputs if one is not None], allow_unused=True)
    for place, output, gradient in zip(places, outputs, found, strict=True):
        assert output is not None  # the session has checked that every layer was reached
        call = calls.pop(place)
        values = call.value[:, call.reads].detach()
        given = torch.zeros_like(output) if gradient is None else gradient
        look(call, torch.einsum("bqhd,bhkd->bhqk", given, values))
