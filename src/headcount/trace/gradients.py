"""The gradients of a loss with respect to head outputs and attention maps, one layer at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerKey, LayerRun, OutputEdit
from headcount.trace.session import session


class Differentiable(OutputEdit):
    """Head outputs that have a gradient, also where no weight of the model has one."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return outputs if outputs.requires_grad else outputs.detach().requires_grad_()


def output_gradients(loss: Tensor, outputs: Mapping[LayerKey, Tensor]) -> dict[LayerKey, Tensor]:
    """The gradients of a loss with respect to head outputs; zero where it does not depend on them."""
    gradients = torch.autograd.grad(loss, list(outputs.values()), allow_unused=True)
    return {
        key: torch.zeros_like(output) if gradient is None else gradient
        for (key, output), gradient in zip(outputs.items(), gradients, strict=True)
    }


def map_gradient(call: AttentionCall, gradient: Tensor) -> Tensor:
    """The gradient [B, H, Q, K] of a layer's map from that of its head outputs [B, Q, H, D].

    A head's output is its map times its values, so that the map's gradient is the output's times the values: no map has
    to be kept for it.
    """
    return torch.einsum("bqhd,bhkd->bhqk", gradient, call.by_head(call.value).detach())


@takes_compiled
def each_output_gradient(
    model: PreTrainedModel,
    batch: Mapping[str, Any],
    objective: Callable[[Any], Tensor],
    look: Callable[[AttentionCall, Tensor], None],
) -> None:
    """Call `look` with each layer's attention call and the gradient [B, Q, H, D] of `objective(result)` in its outputs.

    That of its map follows by `map_gradient`, for a part of the queries where the whole map is large.
    """
    outputs: dict[LayerKey, Tensor] = {}
    calls: dict[LayerKey, AttentionCall] = {}

    def keep(run: LayerRun) -> None:
        assert run.call is not None
        outputs[run.layer_key], calls[run.layer_key] = run.outputs, run.call

    keys = [block.layer_key for block in read_anatomy(model)]
    edits, observers = dict.fromkeys(keys, Differentiable()), dict.fromkeys(keys, keep)
    with torch.inference_mode(False), torch.enable_grad(), session(model, edits, observers, purpose="gradients"):
        loss = objective(model(**batch))
    for key, gradient in output_gradients(loss, outputs).items():
        call = calls.pop(key)
        look(call, gradient)
