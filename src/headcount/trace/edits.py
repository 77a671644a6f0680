"""Edits, which change the head outputs of a layer, and observers, which are shown them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from headcount.models.attention import Attention
from headcount.models.feed_forward import FeedForward
from headcount.trace.call import AttentionCall
from headcount.trace.view import AttentionView

LayerKey = tuple[str, int]
"""A stack and a layer."""


class Edit(Protocol):
    """Changes the head outputs, or the feed-forward units, of one layer."""

    needs_call: bool
    """Whether it needs the layer's attention call; only such an edit can change the map."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        """The new outputs for `outputs` [B, Q, heads, size], which must not be changed in place; a unit has size 1."""
        ...

    def change_map(self, weights: Tensor, call: AttentionCall) -> Tensor:
        """The layer's attention map [B, heads, Q, K] under the edit; most edits leave it unchanged."""
        ...


class OutputEdit:
    """Base of the edits that need nothing but the head outputs."""

    needs_call = False

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        raise NotImplementedError

    def change_map(self, weights: Tensor, call: AttentionCall) -> Tensor:
        return weights


@dataclass(frozen=True)
class LayerRun:
    """One layer in one pass, after all edits: what an observer is shown.

    `outputs`: the head outputs [B, Q, heads, size]. `call`: the attention call; None in a session with `outputs_only`.
    """

    block: Attention | FeedForward
    outputs: Tensor
    call: AttentionCall | None = None
    edits: tuple[Edit, ...] = ()

    @property
    def layer_key(self) -> LayerKey:
        return self.block.layer_key

    def on(self, device: torch.device) -> LayerRun:
        """The layer's tensors on a device: the layers of one model may run on several."""
        if self.outputs.device == device:
            return self
        call = None if self.call is None else self.call.on(device)
        return replace(self, outputs=self.outputs.to(device), call=call)

    @property
    def heads(self) -> tuple[int, ...]:
        """The heads of the layer, in the order of `outputs`; the layer's units where these are observed."""
        return self.block.heads if isinstance(self.block, Attention) else self.block.units

    def attention(self, classes: Tensor | None = None) -> AttentionView:
        """Its attention map, and sums over `classes` [B, K, C] of keys."""
        assert self.call is not None, "a session with outputs_only=True hears no attention calls"
        changes = tuple(edit.change_map for edit in self.edits if edit.needs_call)
        return AttentionView(self.call, classes, changes, self.outputs)


Observer = Callable[[LayerRun], None]
