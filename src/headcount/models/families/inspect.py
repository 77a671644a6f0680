"""A candidate record for a model whose type has none, from the attention calls of a small pass.

`trace.proof` proves it. Whatever does not fit the plan of a stack (layers without attention, layers in stages, several
towers) is refused here, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headcount.errors import UnknownFamily
from headcount.models.families.plan import Family, Fused, StackPlan

STACKS = (["encoder"], ["decoder"], ["cross", "decoder"], ["cross", "decoder", "encoder"])
"""The combinations of stacks that a model may have."""


@dataclass(frozen=True)
class SeenAttention:
    """One attention call of a pass: the names of its module and of the projection of its outputs, and its shapes."""

    attention: str
    output: str
    stack: str
    heads: int
    size: int
    kv_heads: int


def candidate_family(model: PreTrainedModel, calls: Sequence[SeenAttention]) -> Family:
    """The record that fits the calls of a pass, in their order; an error where none can."""
    by_path: dict[str, list[SeenAttention]] = {}
    for call in calls:
        by_path.setdefault(re.sub(r"(?<![^.])\d+(?![^.])", "*", call.attention), []).append(call)
    plans = [_plan(model, group) for group in by_path.values()]
    stacks = [plan.stack for plan in plans]
    if sorted(stacks) not in STACKS:
        raise UnknownFamily(f"layers: {', '.join(by_path)} are not an encoder, a decoder, or both")
    measured = tuple((group[0].stack, group[0].size, group[0].kv_heads) for group in by_path.values())
    return Family((model.config.model_type,), tuple(plans), measured=measured)


def _plan(model: PreTrainedModel, calls: Sequence[SeenAttention]) -> StackPlan:
    """The plan of one stack from the calls of its layers."""
    first, paths = calls[0], [call.attention.split(".") for call in calls]
    numbered = [at for at, part in enumerate(paths[0]) if part.isdigit()]
    varying = [at for at in numbered if len({path[at] for path in paths}) > 1] or numbered[:1]
    if len(varying) != 1:
        raise UnknownFamily(f"layers: {first.attention} is in no list of layers, or in a list of lists")
    (at,) = varying
    numbers = [int(path[at]) for path in paths]
    layers: Any = model.get_submodule(".".join(paths[0][:at]))
    if len(set(numbers)) < len(numbers):
        raise UnknownFamily(f"layers: {first.attention} is called several times in a pass")
    if numbers != list(range(len(layers))):
        raise UnknownFamily(f"layers: of {len(layers)} layers, {numbers} call the attention interface, in this order")
    if len({(call.heads, call.size, call.kv_heads, call.stack) for call in calls}) > 1:
        raise UnknownFamily(f"layers: those of {first.attention} have heads of unlike number or size")
    inside, outputs = set(), set()
    for call, path in zip(calls, paths, strict=True):
        layer = ".".join(path[: at + 1])
        if not call.output.startswith(f"{layer}.") or call.attention == layer:
            raise UnknownFamily(f"layers: {call.output} is not a part of the layer {layer}")
        inside.add(call.attention.removeprefix(f"{layer}."))
        outputs.add(call.output.removeprefix(f"{layer}."))
    if len(inside) > 1 or len(outputs) > 1:
        raise UnknownFamily(f"layers: their parts have different names: {', '.join(sorted(inside | outputs))}")
    layer = ".".join([*paths[0][:at], "*"]).removeprefix(f"{model.base_model_prefix}.")
    return StackPlan(first.stack, layer, inside.pop(), outputs.pop(), query=None, key=None, value=None, size=None)


PROJECTIONS: tuple[tuple[str, str, str, Fused | None], ...] = (
    ("q_proj", "k_proj", "v_proj", None),
    ("query", "key", "value", None),
    ("q", "k", "v", None),
    ("q_lin", "k_lin", "v_lin", None),
    *(
        (name, name, name, fused)
        for name in ("qkv_proj", "query_key_value", "qkv", "Wqkv", "c_attn")
        for fused in ("by-part", "by-head")
    ),
)
SIZES = ("head_dim", "attention_head_size", "head_size", "key_value_proj_dim")
WIDTHS = ("all_head_size", "embed_dim", "hidden_size", "inner_dim", "split_size")


def cut_candidates(plan: StackPlan, attention: nn.Module, heads: int, size: int) -> list[StackPlan]:
    """Plans by which a cut might work: common names of projections and of attributes that a cut must change."""
    numbers = {name: value for name, value in vars(attention).items() if type(value) is int}
    sizes = [name for name in SIZES if numbers.get(name) == size]
    counts = tuple(
        name for name, value in numbers.items() if value == heads and "head" in name and not re.search("key|kv", name)
    )
    widths = tuple(name for name in WIDTHS if numbers.get(name) == heads * size)
    groups = "num_key_value_groups" if "num_key_value_groups" in numbers else None
    plans = []
    changed_attributes = ((counts, ()), (counts, widths), ((), widths), ((), ()))
    for (query, key, value, fused), (changed_counts, changed_widths) in product(PROJECTIONS, changed_attributes):
        parts = {query, key, value}
        if sizes and all(isinstance(getattr(attention, name, None), nn.Module) for name in parts):
            plans.append(
                replace(
                    plan,
                    query=query,
                    key=key,
                    value=value,
                    size=sizes[0],
                    fused=fused,
                    counts=changed_counts,
                    widths=changed_widths,
                    groups=groups,
                    bias=hasattr(attention, "has_relative_attention_bias"),
                )
            )
    return list(dict.fromkeys(plans))
