"""Gates of 1 that are differentiated but never multiplied: the slope of every example's loss in every part of a layer.

An output y times a gate of 1 is y, and the slope of the loss in that gate is y . dL/dy. So a pass with gates of 1 is
the plain pass, and its backward pass differs by one product and one sum for each layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from headcount.trace.call import AttentionCall
from headcount.trace.edits import OutputEdit


class GateOfOne(OutputEdit):
    """Leaves the outputs as they are; `gates` [example, part] get the gradient of gates of 1 on them."""

    def __init__(self, gates: Tensor) -> None:
        self.gates = gates

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        gated: Tensor = _GateOfOne.apply(outputs, self.gates.to(outputs.device))  # type: ignore[no-untyped-call]
        return gated


class _GateOfOne(Function):
    @staticmethod
    def forward(ctx: Any, outputs: Tensor, gates: Tensor) -> Tensor:
        ctx.save_for_backward(outputs)
        ctx.dtype = gates.dtype
        return outputs.view_as(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (outputs,), (gradient,) = ctx.saved_tensors, gradients
        products = outputs.to(ctx.dtype) * gradient.to(ctx.dtype)
        # A unit is a single number: to sum over it as well would only take longer.
        slopes = torch.sum(products.squeeze(-1) if products.shape[-1] == 1 else products.sum(-1), dim=1)
        return gradient, slopes
