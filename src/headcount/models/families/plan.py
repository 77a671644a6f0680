"""What has to be said of a family: where its heads are, and everything else that its code does in a way of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

Fused = Literal["by-part", "by-head"]
FirstPosition = Callable[..., Tensor]
"""A layer and its arguments in, the layer's output at the first position [B, 1, width] out."""


@dataclass(frozen=True)
class StackPlan:
    """Where one stack keeps its layers, and each layer its attention.

    `layer` is a path in the model with `*` for the layer's number; it may stand behind any prefix,
    so that a bare model and one with a task head are both found. `attention` and `output` are paths
    inside the layer; `query`, `key`, `value` names inside the attention module (one name three times
    where they are one matrix, and `fused` says how its rows are arranged: all queries, all keys, all
    values, or query, key and value of each head in turn). `size` is the attention module's attribute
    that holds the size of a head. The four are None where only a proof says where heads are (`Family.measured`).
    """

    stack: str
    layer: str
    attention: str
    output: str
    query: str | None
    key: str | None
    value: str | None
    size: str | None
    fused: Fused | None = None
    counts: tuple[str, ...] = ()
    """For surgery: the attention module's attributes that hold the number of heads,"""
    widths: tuple[str, ...] = ()
    """those that hold the number of heads times their size,"""
    groups: str | None = None
    """the one that holds how many heads read one key/value head,"""
    further: tuple[str, ...] = ()
    """further projections whose rows are arranged as the query's,"""
    bias: bool = False
    """and whether a position bias of all heads goes from layer to layer."""


@dataclass(frozen=True)
class SharedLayers:
    """One layer's weights serve several layers: a layer is a use of a module, counted from the door on.

    `door` is the path of the module whose call begins a pass. `order` gives, for a config, the numbers in the path of
    the module that each layer of a pass uses.
    """

    door: str
    order: Callable[[Any], list[tuple[int, ...]]]


@dataclass(frozen=True)
class Family:
    """One architecture: the model types that share it, the plans of its stacks, and what is its own."""

    model_types: tuple[str, ...]
    stacks: tuple[StackPlan, ...]
    interface: bool = True
    """Its attention runs through transformers' attention interface. Where it does not, the attention module's own
    `forward` must take `attention_mask` and `output_attentions`."""
    shared: SharedLayers | None = None
    """Layers that share their weights: a head cannot be cut out of one of them."""
    position_offset: int = 0
    """How many of `max_position_embeddings` are not for tokens."""
    first_position: FirstPosition | None = None
    """The last layer at the first position alone, for models that read no other."""
    head_counts: tuple[str, ...] = ()
    """The numbers of heads and of key/value heads in a config that also says the size of a head: such a config can
    express a model whose layers all keep the same number of heads."""
    width_multiple: bool = False
    """Its config refuses a number of heads that does not divide the width."""
    starts_with_last: bool = False
    """Its decoder starts with the target's last token, which names the language."""
    unbatched: tuple[str, ...] = ()
    """Arguments of a layer that hold no batch."""
    fans_out: bool = True
    """What follows a layer's attention inside the layer takes tensors with one more dimension in front."""
    measured: tuple[tuple[str, int, int], ...] = ()
    """For a family without a record, proved on a small pass: for each stack the size of a head and the number of
    key/value heads."""
