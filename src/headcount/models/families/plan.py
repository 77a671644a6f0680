"""The record of a family: where its heads are, and everything else that its code does in its own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

Fused = Literal["by-part", "by-head"]
FirstPosition = Callable[..., Tensor]
"""From a layer and its arguments to the layer's output [B, 1, width] at the first position."""


@dataclass(frozen=True)
class FeedForwardPlan:
    """Where a layer keeps its feed-forward block; all names are paths inside the layer.

    `inputs` are the projections with a row for each unit: one, or the two of a gated block (SwiGLU, GeGLU), whose rows
    go together; of the names that are listed, a layer has those of its own activation. `output` is the projection with
    a column for each unit.
    """

    inputs: tuple[str, ...]
    output: str
    halves: int = 1
    """How many projections lie in one matrix, one after the other."""
    flattened: bool = False
    """Whether the block sees all texts of a batch as one sequence [B * Q, width]."""


@dataclass(frozen=True)
class StackPlan:
    """Where one stack keeps its layers, and each layer its attention.

    `layer` is a path in the model with `*` for the layer's number; any prefix may come before it, so that a bare model
    and one with a task head are both found. `attention` and `output` are paths inside the layer; `query`, `key` and
    `value` are names inside the attention module. Where the three are one matrix, they have one name, and `fused` says
    how its rows are arranged: all queries, all keys, all values, or query, key and value of each head in turn. `size`
    is the attention module's attribute that holds the size of a head. These four are None for a family without a
    record (`Family.measured`) whose cut was not proved.
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
    """For surgery: the attention module's attributes that hold the number of heads."""
    widths: tuple[str, ...] = ()
    """For surgery: those that hold the number of heads times their size."""
    groups: str | None = None
    """For surgery: the one that holds the number of heads that read one key/value head."""
    further: tuple[str, ...] = ()
    """Further projections whose rows are arranged as the query's."""
    bias: bool = False
    """Whether a position bias of all heads is passed from layer to layer."""
    feed_forward: FeedForwardPlan | None = None
    """The feed-forward block that follows this attention; None for one that another stack has, or that is not known."""


@dataclass(frozen=True)
class SharedLayers:
    """Several layers use the weights of one module: a layer is a use, counted from the start of a pass.

    `entry` is the path of the module whose call begins a pass. `order` gives, for a config, the numbers in the path of
    the module that each layer of a pass uses.
    """

    entry: str
    order: Callable[[Any], list[tuple[int, ...]]]


@dataclass(frozen=True)
class Family:
    """One architecture: the model types that share it, the plans of its stacks, and its peculiarities."""

    model_types: tuple[str, ...]
    stacks: tuple[StackPlan, ...]
    interface: bool = True
    """Its attention runs through transformers' attention interface. Where it does not, the attention module's own
    `forward` must take `attention_mask` and `output_attentions`."""
    shared: SharedLayers | None = None
    """Layers that share their weights: a head cannot be cut out of one of them."""
    position_offset: int = 0
    """The number of `max_position_embeddings` that are not for tokens."""
    first_position: FirstPosition | None = None
    """The last layer at the first position alone, for models that read no other."""
    head_counts: tuple[str, ...] = ()
    """The numbers of heads and of key/value heads in a config that also says the size of a head: such a config can
    express a model whose layers all keep the same number of heads."""
    unit_counts: tuple[str, ...] = ()
    """The numbers of feed-forward units in a config, one for each stack that has some: such a config can express a
    model whose layers all keep the same number of units."""
    width_multiple: bool = False
    """Its config refuses a number of heads that does not divide the width."""
    starts_with_last: bool = False
    """Its decoder starts with the target's last token, which names the language."""
    unbatched: tuple[str, ...] = ()
    """Arguments of a layer that have no batch dimension."""
    fans_out: bool = True
    """The code that follows the attention inside a layer takes tensors with one more leading dimension."""
    measured: tuple[tuple[str, int, int], ...] = ()
    """For a family without a record: each stack with the size of a head and the number of key/value heads that a small
    pass showed."""
