"""Parts of a head (output, query, key, value, map): kept from one pass, and the outputs they make in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import DataProblem, UnsuitableModel
from headcount.trace.call import AttentionCall
from headcount.trace.edits import Edit, LayerKey, LayerRun
from headcount.trace.session import session
from headcount.trace.variants import Replacement
from headcount.trace.view import AttentionView

PARTS = ("output", "query", "key", "value", "weights")
"""What of a head can take the place of the same in another pass; `weights` is its attention map."""
AT_KEYS = ("key", "value")
"""Parts whose positions are those of the keys; those of all others are of the queries."""


@dataclass(frozen=True)
class Kept:
    """A part of all heads of a layer in one pass, positions second: [B, positions, heads or groups, ...]."""

    part: str
    tensor: Tensor

    def at(self, positions: Tensor | None) -> Kept:
        """The part at other positions [B, Q] of each example."""
        if positions is None:
            return self
        index = positions.to(self.tensor.device)[:, :, None, None].expand(-1, -1, *self.tensor.shape[2:])
        return replace(self, tensor=self.tensor.gather(1, index))

    def rows(self, chosen: Tensor) -> Kept:
        """The part of some examples, or of the same ones in another order."""
        return replace(self, tensor=self.tensor[chosen])


def keep_part(
    model: PreTrainedModel, layers: Iterable[LayerKey], part: str, run: Callable[[], Any]
) -> tuple[Any, Mapping[LayerKey, Kept]]:
    """What `run`, a pass of the model, returns, and a part of the heads of these layers in it."""
    kept: dict[LayerKey, Kept] = {}

    def keep(layer: LayerRun) -> None:
        kept[layer.layer_key] = Kept(part, _part_of(layer, part))

    observers = dict.fromkeys(layers, keep)
    with session(model, observers=observers, purpose="keeping head outputs", outputs_only=part == "output"):
        result = run()
    return result, kept


def _part_of(layer: LayerRun, part: str) -> Tensor:
    if part == "output":
        return layer.outputs
    call = layer.call
    assert call is not None  # the session hears attention calls
    tensor = layer.attention().map if part == "weights" else getattr(call, part)
    if tensor is None:
        raise _unsuitable(call, part)
    return tensor.transpose(1, 2)


class Patched(Replacement):
    """A part of the heads of a layer from another pass; `where` [example, position]: at some positions alone."""

    def __init__(self, columns: list[int], kept: Kept, where: Tensor | None) -> None:
        super().__init__(columns)
        self.kept = kept
        self.needs_call = kept.part != "output"
        self.keys = where if kept.part in AT_KEYS else None
        self.where = None if kept.part in AT_KEYS else where

    def is_like(self, other: Edit) -> bool:
        return isinstance(other, Patched) and other.kept is self.kept and other.keys is self.keys

    def everywhere(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return outputs_with(self.kept, outputs, call, self.keys)


def outputs_with(kept: Kept, outputs: Tensor, call: AttentionCall | None, where: Tensor | None = None) -> Tensor:
    """The head outputs [B, Q, heads, size] of a layer with a part from another pass.

    `outputs` and `call` are the layer's own, in which a batch may stand several times. `where` [B, K]: of keys and
    values, the positions that are taken from the other pass. A last layer that is computed at the first position alone
    takes that of the other pass.
    """
    tensor = kept.tensor.to(outputs)
    if len(outputs) % len(tensor) or tensor.shape[1] < (outputs.shape[1] if kept.part not in AT_KEYS else 1):
        here, there = (f"{len(own)} texts of {own.shape[1]} tokens" for own in (outputs, tensor))
        raise DataProblem(f"the pass has {here}, the one that its heads are taken from {there}; expected as many")
    tensor = tensor.repeat(len(outputs) // len(tensor), 1, 1, 1)
    if kept.part == "output":
        return tensor[:, : outputs.shape[1]]
    assert call is not None  # the wiring raises where an edit that needs the call gets none
    if kept.part == "weights":
        weights = tensor[:, : outputs.shape[1]].transpose(1, 2)
        return (weights @ call.by_head(call.value)).transpose(1, 2)
    if call.query is None or call.key is None:
        raise _unsuitable(call, kept.part)
    if kept.part == "query":
        return attend(replace(call, query=tensor[:, : outputs.shape[1]].transpose(1, 2)))
    own = getattr(call, kept.part)
    other = tensor.transpose(1, 2)
    if where is not None:
        mask = where.to(own.device).repeat(len(own) // len(where), 1)[:, None, :, None]
        other = torch.where(mask, other, own)
    return attend(replace(call, key=other) if kept.part == "key" else replace(call, value=other))


def attend(call: AttentionCall) -> Tensor:
    """The head outputs [B, Q, heads, size] of an attention call."""
    weights = AttentionView(call).map
    return (weights @ call.by_head(call.value).to(weights.dtype)).transpose(1, 2).to(call.value.dtype)


def _unsuitable(call: AttentionCall, part: str) -> UnsuitableModel:
    return UnsuitableModel(
        f"{call.block.name} computes its attention itself, so that its {part} cannot be replaced; take part='output'"
    )
