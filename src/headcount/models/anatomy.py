"""Where a model keeps its heads: its stacks and their layers, read by the record of its family."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headcount.core.heads import Layout
from headcount.core.units import EXPERTS, NO_RECORD, SUFFIX, UnitLayout
from headcount.errors import UnknownFamily
from headcount.models.attention import Attention
from headcount.models.compiled import takes_compiled
from headcount.models.families.lookup import family_of_model
from headcount.models.families.plan import Family, SharedLayers, StackPlan
from headcount.models.feed_forward import FeedForward, read_feed_forward
from headcount.models.plain_weights import projection_width
from headcount.models.shrink import layer_names


@dataclass(frozen=True, eq=False)
class Anatomy:
    """All attention layers of a model, by stack, and the feed-forward blocks that follow them."""

    family: Family
    stacks: dict[str, tuple[Attention, ...]]
    feed_forwards: dict[str, tuple[FeedForward, ...]] = field(default_factory=dict)
    """By stack; empty where they are not known."""
    without_units: str = NO_RECORD
    """Why they are not known."""

    @property
    def layout(self) -> Layout:
        return Layout({stack: tuple(layer.heads for layer in layers) for stack, layers in self.stacks.items()})

    @property
    def units(self) -> UnitLayout:
        """The feed-forward units."""
        stacks = {stack: tuple(block.units for block in blocks) for stack, blocks in self.feed_forwards.items()}
        return UnitLayout(stacks, self.without_units)

    def __iter__(self) -> Iterator[Attention]:
        """The layers that have heads: a pruned one may have lost all of them."""
        for layers in self.stacks.values():
            yield from (layer for layer in layers if layer.heads)

    def attention(self, stack: str, layer: int) -> Attention:
        return self.stacks[stack][layer]

    def feed_forward(self, stack: str, layer: int) -> FeedForward:
        return self.feed_forwards[stack][layer]

    def block(self, key: tuple[str, int]) -> Attention | FeedForward:
        """The attention or the feed-forward block with this key in a session."""
        stack, layer = key
        if stack.endswith(SUFFIX):
            return self.feed_forwards[stack.removesuffix(SUFFIX)][layer]
        return self.stacks[stack][layer]

    def blocks(self) -> Iterator[Attention | FeedForward]:
        """All blocks that have heads or units."""
        yield from self
        for blocks in self.feed_forwards.values():
            yield from (block for block in blocks if block.units)


@takes_compiled
def read_anatomy(model: PreTrainedModel) -> Anatomy:
    """Where the model keeps its heads; `UnknownFamily` for a model that is not understood.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> read_anatomy(model).layout.count
    8
    """
    if not isinstance(model, PreTrainedModel):
        raise UnknownFamily(f"got {type(model).__name__}; expected a transformers PreTrainedModel")
    family = family_of_model(model)
    modules = dict(model.named_modules())
    stacks = {}
    feed_forwards: dict[str, tuple[FeedForward, ...]] = {}
    for plan in family.stacks:
        layers = layer_names(modules, plan.layer, plan.attention)
        if layers:
            stack = plan.stack if family.measured else _stack_name(plan, model.config)
            blocks = [
                read_feed_forward(plan.feed_forward, stack, number, name, modules, model.config)
                for number, name in enumerate(layers)
                if plan.feed_forward is not None
            ]
            if blocks and None not in blocks:
                feed_forwards[stack] = tuple(block for block in blocks if block is not None)
            stacks[stack] = tuple(
                _attention(family, plan, stack, number, name, modules, model.config)
                for number, name in enumerate(layers)
            )
    if not stacks and any("_orig_mod" in name.split(".") for name in modules):
        raise UnknownFamily(
            f"parts of {type(model).__name__} were replaced by what torch.compile gives; compile them in place, "
            "with part.compile()"
        )
    if not stacks:
        raise UnknownFamily(
            f"{type(model).__name__} says it is of type {model.config.model_type!r}, but no attention was found at "
            + " or ".join(f"{plan.layer}.{plan.attention}" for plan in family.stacks)
        )
    if family.shared:
        feed_forwards = {
            stack: _uses_of_units(family.shared, stacks[stack], blocks, model.config, modules)
            for stack, blocks in feed_forwards.items()
        }
        stacks = {stack: _uses(family.shared, layers, model.config, modules) for stack, layers in stacks.items()}
    return Anatomy(family, stacks, feed_forwards, EXPERTS if _has_experts(model.config) else NO_RECORD)


def _has_experts(config: Any) -> bool:
    """Whether the config speaks of a mixture of experts."""
    return any(getattr(config, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts"))


def _stack_name(plan: StackPlan, config: Any) -> str:
    """BERT and its like can be built as decoders: then their self-attention is a decoder stack."""
    is_decoder = getattr(config, "is_decoder", False) and not getattr(config, "is_encoder_decoder", False)
    return "decoder" if plan.stack == "encoder" and is_decoder else plan.stack


def _attention(
    family: Family, plan: StackPlan, stack: str, number: int, layer: str, modules: dict[str, nn.Module], config: Any
) -> Attention:
    """One layer by the plan of its stack; an error where a part is missing or has no whole number of heads."""
    label = f"{config.model_type} {stack} layer {number}"
    name, output_name = f"{layer}.{plan.attention}", f"{layer}.{plan.output}"
    module: Any = modules[name]
    for role in (plan.query, plan.key, plan.value):
        if role is not None and f"{name}.{role}" not in modules:
            raise UnknownFamily(f"{label}: no projection {role!r} in {name}")
    if output_name not in modules:
        raise UnknownFamily(f"{label}: no output projection {output_name!r}")
    output = modules[output_name]
    measured = {stack: numbers for stack, *numbers in family.measured}
    size, kv_heads = measured.get(plan.stack) or (getattr(module, plan.size or "", None), None)
    if not isinstance(size, int):
        raise UnknownFamily(f"{label}: {name} does not say the size of a head ({plan.size!r})")
    count, rest = divmod(projection_width(output, "in"), size)
    kv_rest = 0
    if kv_heads is None:
        kv_width = projection_width(modules[f"{name}.{plan.key}"], "out") // (3 if plan.fused else 1)
        kv_heads, kv_rest = divmod(kv_width, size)
    recorded = _recorded_heads(config, stack, number)
    if hasattr(module, "kept_heads"):
        heads, groups = tuple(module.kept_heads), tuple(module.kept_groups)
    elif rest or kv_rest or (kv_heads and count % kv_heads):
        raise UnknownFamily(f"{label}: the widths of its projections are no multiples of the head size {size}")
    else:
        # transformers may have loaded a folder whose config says the number of heads, and the record which they are.
        heads = tuple(recorded) if recorded is not None and len(recorded) == count else tuple(range(count))
        groups = tuple(column * kv_heads // count for column in range(count))
    return Attention(
        family, plan, stack, number, name, module, layer, modules[layer], output_name, output, heads, size, groups
    )


def _recorded_heads(config: Any, stack: str, layer: int) -> list[int] | None:
    """The heads of a layer that were not cut, by the record of the cut in the config."""
    for recorded in (getattr(config, "headcount", None) or {}).get("stacks", ()):
        if recorded["stack"] == stack and layer < len(recorded["kept"]):
            return list(recorded["kept"][layer])
    return None


def _uses(
    shared: SharedLayers, layers: tuple[Attention, ...], config: Any, modules: dict[str, nn.Module]
) -> tuple[Attention, ...]:
    """The layers in the order of a pass, each one a use of one of the modules."""
    stars = layers[0].plan.layer.count("*")
    by_numbers = {tuple(map(int, re.findall(r"\.(\d+)", block.layer_name)[-stars:])): block for block in layers}
    entry = next(
        module for name, module in modules.items() if name == shared.entry or name.endswith(f".{shared.entry}")
    )
    used: Counter[tuple[int, ...]] = Counter()
    uses = []
    for number, module_numbers in enumerate(shared.order(config)):
        uses.append(replace(by_numbers[module_numbers], layer=number, use=used[module_numbers], entry=entry))
        used[module_numbers] += 1
    return tuple(uses)


def _uses_of_units(
    shared: SharedLayers,
    layers: tuple[Attention, ...],
    blocks: tuple[FeedForward, ...],
    config: Any,
    modules: dict[str, nn.Module],
) -> tuple[FeedForward, ...]:
    """The feed-forward blocks in the order of a pass, each one a use of that of its layer's module."""
    by_module = {block.layer_module: block for block in blocks}
    return tuple(
        replace(by_module[use.layer_module], layer=use.layer, use=use.use, entry=use.entry)
        for use in _uses(shared, layers, config, modules)
    )
