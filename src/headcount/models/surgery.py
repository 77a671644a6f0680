"""Heads and units cut out of a model, in place: checks first, then the cut, which can be undone until verified."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headcount.core.heads import spell_ranges
from headcount.core.units import Selection, UnitSet
from headcount.errors import CannotPrune
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.attention import Attention, is_projection
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.feed_forward import FeedForward
from headcount.models.plain_weights import is_plain, spell_form, weight_of
from headcount.models.shrink import layers_of, read_ranges, shrink

FORMAT, WITH_UNITS = 1, 2
"""The formats of records: of heads alone, which older versions read, and of heads and units."""
Record = dict[str, Any]
"""What `config.headcount` says: the format, and for each stack its parts and the heads and units that are kept."""


@takes_compiled
def cut(model: PreTrainedModel, selection: Any) -> Callable[[], None]:
    """Remove heads and units and record what remains in `model.config.headcount`; the returned function undoes it.

    Nothing is changed where a head or unit does not exist or the model cannot be cut.
    """
    check_whole(model, "remove heads", CannotPrune)
    anatomy = read_anatomy(model)
    removed = Selection.of(selection, anatomy.layout, anatomy.units)
    check_can_prune(anatomy)
    if removed.heads and len(removed.heads) == anatomy.layout.count:
        raise CannotPrune(f"got all {len(removed.heads)} heads of the model; expected at least one that stays")
    by_layer = removed.heads.by_layer()
    kept = {
        stack: [[head for head in block.heads if head not in by_layer.get(block.layer_key, ())] for block in layers]
        for stack, layers in anatomy.stacks.items()
    }
    record = make_record(anatomy, kept, getattr(model.config, "headcount", None), ~removed.units)
    undo = _restorer(model, record)
    try:
        _own_config(model, record)
        for layers in anatomy.stacks.values():
            for block in layers:
                label_heads(block, block.module)
        for stack in record["stacks"]:
            for feed_forward in anatomy.feed_forwards[stack["stack"]] if "kept_units" in stack else ():
                label_units(feed_forward, feed_forward.output)
        shrink(model, record)
    except BaseException:
        undo()
        raise
    return undo


def label_heads(block: Attention, module: Any) -> None:
    """Set the numbers of a layer's heads and groups on its attention module or a copy of it, where a cut reads them."""
    if not hasattr(module, "kept_heads"):
        module.kept_heads, module.kept_groups = list(block.heads), list(block.groups)


def label_units(block: FeedForward, output: Any) -> None:
    """Set the numbers of a layer's units on its output projection, or a copy of it, where a cut reads them."""
    output.kept_units = list(block.units)


def _own_config(model: PreTrainedModel, record: Record) -> None:
    """Give the model a config of its own with the record in it: another model may share the one it has."""
    old = model.config
    new = copy.deepcopy(old)
    for name, number in (getattr(old, "headcount", None) or {}).get("plain", {}).items():
        setattr(new, name, number)
    new.headcount = record
    for module in model.modules():
        if getattr(module, "config", None) is old:
            module.config = new


def check_can_prune(anatomy: Anatomy) -> None:
    """An error, with the reason, for a model whose heads cannot be cut out."""
    if anatomy.family.shared:
        raise CannotPrune(
            f"{anatomy.family.model_types[0]} uses the weights of one layer for all: a head cut from one layer would "
            "be gone from all of them; ablate or gate it instead"
        )
    for block in anatomy:
        if block.plan.query is None:
            raise CannotPrune(
                f"models of type {anatomy.family.model_types[0]!r} have no record, and no cut was proved to give what "
                "ablation gives; ablate or gate their heads instead"
            )
        further = [getattr(block.module, name) for name in block.plan.further if hasattr(block.module, name)]
        for module in (*(block.projection(role)[0] for role in ("query", "key", "value")), *further, block.output):
            if not is_projection(module):
                raise CannotPrune(
                    f"{block.name} has a projection of type {_spell_type(module)}; expected a plain Linear: "
                    "cut the heads before the model is quantised, or adapters are put on it"
                )
    for blocks in anatomy.feed_forwards.values():
        for feed_forward in blocks:
            for name, module in (*feed_forward.inputs, (feed_forward.output_name, feed_forward.output)):
                if not is_projection(module):
                    raise CannotPrune(
                        f"{name} is of type {_spell_type(module)}; expected a plain Linear: cut before the model is "
                        "quantised, or adapters are put on it"
                    )


def _spell_type(module: Any) -> str:
    """The type of a projection that cannot be cut; a plain one has a weight that cannot."""
    weight, kind = weight_of(module), type(module).__name__
    if weight is None:
        return f"{kind} ({type(module).__module__})"
    return kind if is_plain(weight) else f"{kind} whose weight is {spell_form(weight)}"


def make_record(
    anatomy: Anatomy, kept: dict[str, list[list[int]]], before: Record | None = None, units: UnitSet | None = None
) -> Record:
    """The record of a cut that keeps these heads and units of each layer; `before`: the record of an earlier one.

    Units are recorded where some are gone, as ranges: they are many.
    """
    earlier = (before or {}).get("stacks", ())
    original = {part["stack"]: part["heads"] for part in earlier}
    stacks = []
    with_units = False
    for stack, layers in anatomy.stacks.items():
        plan = asdict(layers[0].plan)
        feed_forward = plan.pop("feed_forward")
        plan = {key: list(value) if isinstance(value, tuple) else value for key, value in plan.items()}
        heads = original.get(stack, anatomy.layout.width(stack))
        stacks.append(plan | {"stack": stack, "heads": heads, "kept": kept[stack]})
        if units is not None and stack in anatomy.feed_forwards:
            width = {part["stack"]: part.get("units") for part in earlier}.get(stack) or anatomy.units.width(stack)
            left = [units.by_layer().get((stack, layer), ()) for layer in range(len(layers))]
            if any(len(numbers) < width for numbers in left):
                with_units = True
                stacks[-1] |= {
                    "feed_forward": feed_forward | {"inputs": list(feed_forward["inputs"])},
                    "units": width,
                    "kept_units": [spell_ranges(numbers) for numbers in left],
                }
    return {"format": WITH_UNITS if with_units else FORMAT, "stacks": stacks}


def removed_heads(record: Record) -> dict[str, dict[int, list[int]]]:
    """By stack and layer, the heads that were removed."""
    return {
        stack["stack"]: {
            layer: removed
            for layer, kept in enumerate(stack["kept"])
            if (removed := [head for head in range(stack["heads"]) if head not in kept])
        }
        for stack in record["stacks"]
    }


def removed_units(record: Record) -> dict[str, dict[int, list[int]]]:
    """By stack and layer, the units that were removed."""
    return {
        stack["stack"]: {
            layer: sorted(set(range(stack["units"])) - set(read_ranges(kept)))
            for layer, kept in enumerate(stack["kept_units"])
        }
        for stack in record["stacks"]
        if "kept_units" in stack
    }


def _restorer(model: PreTrainedModel, record: Record) -> Callable[[], None]:
    """A function that restores what a cut will change: modules, their attributes, their parameters and their hooks."""
    touched: dict[nn.Module, tuple[type, dict[str, Any], dict[str, Any]]] = {}
    for stack in record["stacks"]:
        for layer in layers_of(model, stack):
            for module in _parts(layer, stack):
                inner = {key: value.copy() for key, value in module.__dict__.items() if isinstance(value, dict)}
                touched[module] = type(module), dict(module.__dict__), inner
    configs = {module: module.config for module in model.modules() if hasattr(module, "config")}

    def undo() -> None:
        for module, (kind, state, inner) in touched.items():
            module.__class__ = kind
            module.__dict__.clear()
            module.__dict__.update(state)
            for key, content in inner.items():
                # In the same dict: the handles of hooks refer to it.
                state[key].clear()
                state[key].update(content)
        for module, config in configs.items():
            module.config = config

    return undo


def _parts(layer: nn.Module, stack: Record) -> list[nn.Module]:
    attention = layer.get_submodule(stack["attention"])
    names = [stack["query"], stack["key"], stack["value"], *stack["further"]]
    parts = [attention.get_submodule(name) for name in dict.fromkeys(names) if hasattr(attention, name)]
    block = stack.get("feed_forward") or {"inputs": [], "output": stack["output"]}
    inside = dict(layer.named_modules())
    units = [inside[name] for name in (*block["inputs"], block["output"]) if name in inside]
    return [attention, *parts, layer.get_submodule(stack["output"]), *units]


def kept_by_v4(anatomy: Anatomy, pruned: dict[Any, Any]) -> dict[str, list[list[int]]]:
    """The heads that remain where transformers 4 removed some (`config.pruned_heads`), which it did in one stack."""
    stack = next(iter(anatomy.stacks))
    removed = {int(layer): set(map(int, heads)) for layer, heads in pruned.items()}
    known = {block.layer: set(block.heads) for block in anatomy.stacks[stack]}
    for layer, heads in removed.items():
        if not heads <= known.get(layer, set()):
            raise CannotPrune(
                f"config.pruned_heads names L{layer}H{min(heads - known.get(layer, set()))}, which the model never had"
            )
    kept = {name: [list(block.heads) for block in layers] for name, layers in anatomy.stacks.items()}
    kept[stack] = [[head for head in heads if head not in removed.get(at, ())] for at, heads in enumerate(kept[stack])]
    return kept
