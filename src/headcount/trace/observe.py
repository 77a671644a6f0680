"""Observe the heads in one batch: attention maps, head outputs and their gradients, under any kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.attention import Attention
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.trace.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.gradients import Differentiable, map_gradient, output_gradients
from headcount.trace.session import session

Rows = slice | tuple[int, int] | Tensor
"""A range of queries, or their positions."""


@dataclass
class Observation:
    """What was observed, by stack. Heads that the model no longer has are NaN.

    `maps`, `map_gradients`: [layer, head, example, query, key].
    `outputs`, `output_gradients`: [layer, head, example, query, size].
    `result`: the model's output.
    """

    maps: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    map_gradients: dict[str, Tensor] = field(default_factory=dict)
    output_gradients: dict[str, Tensor] = field(default_factory=dict)
    result: Any = None


@takes_compiled
def observe(
    model: PreTrainedModel,
    inputs: Mapping[str, Any],
    maps: bool = True,
    outputs: bool = True,
    gradients: bool = False,
    objective: Callable[[Any], Tensor] | None = None,
    queries: Rows | Mapping[str, Rows] | None = None,
) -> Observation:
    """Attention maps, head outputs and, with `gradients`, those of a loss with respect to both, for one batch.

    The loss is the model's own (`inputs` hold labels), or `objective(result)`. Rows of a map without an allowed key are
    zero. Inside `ablated` and `gated` the maps and outputs are those after the intervention. `queries`: the maps of
    some queries alone, for texts whose whole maps are too large: (start, stop), a slice, a tensor of positions, or one
    of these for each stack. No other rows are computed; outputs are those of all queries.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9)).eval()
    >>> observe(model, {"input_ids": torch.tensor([[1, 2, 3]])}).maps["encoder"].shape
    torch.Size([2, 4, 1, 3, 3])
    """
    anatomy = read_anatomy(model)
    if queries is not None and not maps:
        raise InvalidOption("got queries= and maps=False; queries= chooses rows of the maps")
    keys = [block.layer_key for block in anatomy if block.stack in _stacks_called(anatomy, inputs)]
    weights: dict[LayerKey, Tensor] = {}
    head_outputs: dict[LayerKey, Tensor] = {}
    calls: dict[LayerKey, AttentionCall] = {}

    def keep(run: LayerRun) -> None:
        head_outputs[run.layer_key] = run.outputs
        if gradients and run.call is not None:
            calls[run.layer_key] = run.call
        if maps:
            with torch.no_grad():
                weights[run.layer_key] = _map(run, queries).to(run.outputs.dtype)

    edits = dict.fromkeys(keys, Differentiable()) if gradients else {}
    observers, outputs_only = dict.fromkeys(keys, keep), not (maps or gradients)
    grad = torch.inference_mode(False) if gradients else nullcontext()
    observing = session(model, edits, observers, purpose="observation", outputs_only=outputs_only)
    with observing, grad, torch.set_grad_enabled(gradients):
        result = model(**inputs)
    seen, device = Observation(result=result), input_device(model)
    if maps:
        seen.maps = _by_stack(anatomy, weights, (0, 1, 2, 3), device)
    if outputs:
        seen.outputs = _by_stack(
            anatomy, {key: tensor.detach() for key, tensor in head_outputs.items()}, (0, 2, 1, 3), device
        )
    if gradients:
        by_output = output_gradients(_loss(result, objective), head_outputs)
        seen.output_gradients = _by_stack(anatomy, by_output, (0, 2, 1, 3), device)
        if maps:
            by_map = {key: _map_gradient(calls[key], gradient, queries) for key, gradient in by_output.items()}
            seen.map_gradients = _by_stack(anatomy, by_map, (0, 1, 2, 3), device)
    return seen


def _map(run: LayerRun, queries: Rows | Mapping[str, Rows] | None) -> Tensor:
    assert run.call is not None
    return replace(run, call=_part(run.call, queries)).attention().map


def _part(call: AttentionCall, queries: Rows | Mapping[str, Rows] | None) -> AttentionCall:
    """The call for the queries that are wanted."""
    if isinstance(queries, Mapping):
        queries = queries.get(call.block.stack)
    if queries is None:
        return call
    rows = slice(*queries) if isinstance(queries, tuple) else queries
    if isinstance(rows, slice):
        is_there = rows.step in (None, 1) and len(range(*rows.indices(call.queries))) > 0
    else:
        is_there = len(rows) > 0 and bool(((rows >= 0) & (rows < call.queries)).all())
    if not is_there:
        raise InvalidOption(
            f"got queries={queries}; expected (start, stop) among the {call.queries} queries of {call.block.name}"
        )
    return call.of_queries(rows)


def _map_gradient(call: AttentionCall, gradient: Tensor, queries: Rows | Mapping[str, Rows] | None) -> Tensor:
    part = _part(call, queries)
    return map_gradient(part, gradient if part.part is None else gradient[:, part.part.positions]).detach()


def _loss(result: Any, objective: Callable[[Any], Tensor] | None) -> Tensor:
    loss = objective(result) if objective is not None else getattr(result, "loss", None)
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise InvalidOption(
            "gradients need a loss: give labels in the inputs, "
            "or objective=, a function from the model's result to one number"
        )
    return loss


def _stacks_called(anatomy: Anatomy, inputs: Mapping[str, Any]) -> set[str]:
    """The stacks that a pass with these inputs goes through."""
    stacks = set(anatomy.stacks)
    if "encoder_outputs" in inputs:
        stacks -= {"encoder"}
    if "encoder" not in anatomy.stacks and "encoder_hidden_states" not in inputs:
        stacks -= {"cross"}
    return stacks


def _by_stack(
    anatomy: Anatomy, by_layer: Mapping[LayerKey, Tensor], order: tuple[int, ...], device: torch.device
) -> dict[str, Tensor]:
    """Tensors [layer, head, example, ...] by stack from one tensor a layer, permuted to [example, head, ...].

    On one device: the layers of a model may run on several.
    """
    by_stack = {}
    for stack, layers in anatomy.stacks.items():
        width = anatomy.layout.width(stack)
        tensors = {
            block.layer: _with_removed_heads(block, by_layer[block.layer_key].permute(order), width)
            for block in layers
            if block.layer_key in by_layer
        }
        if tensors:
            removed = torch.full_like(next(iter(tensors.values())), float("nan"))
            rows = [tensors.get(block.layer, removed) for block in layers if block.layer in tensors or not block.heads]
            by_stack[stack] = torch.stack([row.to(device) for row in rows]).transpose(1, 2)
    return by_stack


def _with_removed_heads(block: Attention, tensor: Tensor, width: int) -> Tensor:
    """[example, width, ...] from [example, head, ...]: each head at its number, NaN for those that were removed."""
    if block.heads == tuple(range(width)):
        return tensor
    full = tensor.new_full((tensor.shape[0], width, *tensor.shape[2:]), float("nan"))
    full[:, list(block.heads)] = tensor
    return full
