"""What has to be said of a family so that its heads can be found: the paths and names of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fused = Literal["by-part", "by-head"]


@dataclass(frozen=True)
class StackPlan:
    """Where one stack keeps its layers, and each layer its attention.

    `layer` is a path in the model with `*` for the layer's number; it may stand behind any prefix,
    so that a bare model and one with a task head are both found. `attention` and `output` are paths
    inside the layer; `query`, `key`, `value` names inside the attention module (one name three times
    where they are one matrix, and `fused` says how its rows are arranged: all queries, all keys, all
    values, or query, key and value of each head in turn). `size` is the attention module's attribute
    that holds the size of a head.
    """

    stack: str
    layer: str
    attention: str
    output: str
    query: str
    key: str
    value: str
    size: str
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
class Family:
    """One architecture: the model types that share it and the plans of its stacks.

    `interface`: its attention runs through transformers' attention interface. Where it does not, the
    attention module's own `forward` must take `attention_mask` and `output_attentions`.
    `shared`: one layer's weights serve several layers, so a head cannot be cut out of one of them.
    """

    model_types: tuple[str, ...]
    stacks: tuple[StackPlan, ...]
    interface: bool = True
    shared: bool = False
