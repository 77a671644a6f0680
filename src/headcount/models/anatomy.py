"""Where a model keeps its heads: stacks, layers, heads, key/value groups, and whose each row and column is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any, Literal
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headcount.core.heads import Head, Layout
from headcount.errors import UnknownFamily
from headcount.models.compiled import takes_compiled
from headcount.models.families.plan import Family, SharedLayers, StackPlan
from headcount.models.families.registry import FAMILIES, family_of


@dataclass(frozen=True)
class WeightSlice:
    """The entries `start` to `stop` of a parameter along `dim` that belong to one head.

    `role` is query, key, value or output; `shape` is the shape of that part of the parameter.
    """

    role: str
    parameter: str
    dim: int
    start: int
    stop: int
    shape: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Attention:
    """The attention of one layer: its module, its output projection, its heads.

    The output projection's input is the outputs of all heads side by side: the head at place p of
    `heads` has the columns p * head_size to (p + 1) * head_size.
    """

    family: Family
    plan: StackPlan
    stack: str
    layer: int
    name: str
    module: nn.Module
    layer_name: str
    layer_module: nn.Module
    output_name: str
    output: nn.Module
    heads: tuple[int, ...]
    head_size: int
    groups: tuple[int, ...]
    """For each place of `heads`, the key/value group it reads."""
    use: int = 0
    """Where one module serves several layers: which of its uses in a pass this layer is."""
    door: nn.Module | None = None
    """The module whose call begins a pass, where uses must be counted."""

    @property
    def kv_heads(self) -> int:
        return len(set(self.groups))

    @property
    def output_matrix(self) -> Tensor:
        """The output projection's weights [columns of the heads, width]."""
        weight: Any = self.output.weight
        matrix: Tensor = weight.detach()
        return matrix if _is_transposed(self.output) else matrix.T

    def place(self, head: int) -> int:
        """The head's place among the columns, after pruning too."""
        return self.heads.index(head)

    def slices(self, head: int) -> Iterator[WeightSlice]:
        """The rows of query, key and value and the columns of the output projection of a head.

        Rows of a key/value group are given for every head that reads the group; of a family whose projections are not
        known, only the columns.
        """
        place = self.place(head)
        rows = {"query": place, "key": self.groups[place], "value": self.groups[place]}
        for part, (role, row) in enumerate(rows.items()):
            if self.plan.query is None:
                break
            module, name = self.projection(role)
            dim = int(_is_transposed(module))
            if self.plan.fused == "by-part":
                row += part * len(self.heads)
            elif self.plan.fused == "by-head":
                row = 3 * row + part
            yield self._slice(role, f"{name}.weight", module.weight, dim, row)
            if module.bias is not None:
                yield self._slice(role, f"{name}.bias", module.bias, 0, row)
        for name in self.plan.further:
            further: Any = getattr(self.module, name, None)
            if further is not None:
                yield self._slice("query", f"{self.name}.{name}.weight", further.weight, 0, place)
                if further.bias is not None:
                    yield self._slice("query", f"{self.name}.{name}.bias", further.bias, 0, place)
        dim = int(not _is_transposed(self.output))
        yield self._slice("output", f"{self.output_name}.weight", self.output.weight, dim, place)

    def _slice(self, role: str, name: str, parameter: Any, dim: int, row: int) -> WeightSlice:
        start, stop = row * self.head_size, (row + 1) * self.head_size
        shape = list(parameter.shape)
        shape[dim] = self.head_size
        return WeightSlice(role, name, dim, start, stop, tuple(shape))

    def parameters(self, head: int) -> int:
        """How many parameters are the head's own; keys and values are divided among the readers of a group."""
        readers = self.groups.count(self.groups[self.place(head)])
        sizes = [(part.role, prod(part.shape)) for part in self.slices(head)]
        return round(sum(size / readers if role in ("key", "value") else size for role, size in sizes))

    def projection(self, role: str) -> tuple[Any, str]:
        """The module that computes `query`, `key` or `value`, and its name in the model."""
        name = getattr(self.plan, role)
        return self.module.get_submodule(name), f"{self.name}.{name}"


@dataclass(frozen=True, eq=False)
class Anatomy:
    """All attention layers of a model, by stack."""

    family: Family
    stacks: dict[str, tuple[Attention, ...]]

    @property
    def layout(self) -> Layout:
        return Layout({stack: tuple(layer.heads for layer in layers) for stack, layers in self.stacks.items()})

    def __iter__(self) -> Iterator[Attention]:
        """The layers that have heads: a pruned one may have lost all of them."""
        for layers in self.stacks.values():
            yield from (layer for layer in layers if layer.heads)

    def attention(self, stack: str, layer: int) -> Attention:
        return self.stacks[stack][layer]

    def of(self, head: Head) -> Attention:
        return self.stacks[head.stack][head.layer]


@takes_compiled
def read_anatomy(model: PreTrainedModel) -> Anatomy:
    """Where the model keeps its heads; a model that is not understood is an error, never a guess.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> read_anatomy(model).layout.count
    8
    """
    if not isinstance(model, PreTrainedModel):
        raise UnknownFamily(f"got {type(model).__name__}; expected a transformers PreTrainedModel")
    family = _family(model)
    modules = dict(model.named_modules())
    stacks = {}
    for plan in family.stacks:
        layers = _layers(plan, modules)
        if layers:
            stack = plan.stack if family.measured else _stack_name(plan, model.config)
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
        stacks = {stack: _uses(family.shared, layers, model.config, modules) for stack, layers in stacks.items()}
    return Anatomy(family, stacks)


_proved: WeakKeyDictionary[PreTrainedModel, Family] = WeakKeyDictionary()


def remember(model: PreTrainedModel, family: Family) -> None:
    """Let the model be read by this record: its type has none of its own, and the record was proved on the model."""
    _proved[model] = family


def is_recorded(config: Any) -> bool:
    """Whether a record says where the heads are: that of the model's type, or the one that a cut was made by."""
    return config.model_type in FAMILIES or bool(getattr(config, "headcount", None))


def forget(model: PreTrainedModel) -> None:
    """Read the model by the record of its type again."""
    _proved.pop(model, None)


def _family(model: PreTrainedModel) -> Family:
    """The record of the model's type, the one that was proved on it, or the one that its cut was made by."""
    config = model.config
    if model in _proved and config.model_type not in FAMILIES:
        return _proved[model]
    if config.model_type in FAMILIES or not is_recorded(config):
        return family_of(config.model_type)
    plans = []
    for stack in config.headcount["stacks"]:
        parts: dict[str, Any] = {field.name: stack[field.name] for field in fields(StackPlan)}
        parts = {name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()}
        plans.append(StackPlan(**parts))
    return Family((config.model_type,), tuple(plans))


def _layers(plan: StackPlan, modules: dict[str, nn.Module]) -> list[str]:
    """The names of the stack's layers that have the attention, in order."""
    pattern = re.compile(r"(?:.*\.)??" + re.escape(plan.layer).replace(r"\*", r"(\d+)"))
    by_number = {}
    for name in modules:
        match = pattern.fullmatch(name)
        if match and f"{name}.{plan.attention}" in modules:
            by_number[tuple(map(int, match.groups()))] = name
    return [by_number[number] for number in sorted(by_number)]


def _stack_name(plan: StackPlan, config: Any) -> str:
    """BERT and its like can be built as decoders: then their self-attention is a decoder stack."""
    is_decoder = getattr(config, "is_decoder", False) and not getattr(config, "is_encoder_decoder", False)
    return "decoder" if plan.stack == "encoder" and is_decoder else plan.stack


def _attention(
    family: Family, plan: StackPlan, stack: str, number: int, layer: str, modules: dict[str, nn.Module], config: Any
) -> Attention:
    label = f"{config.model_type} {stack} layer {number}"
    name, output_name = f"{layer}.{plan.attention}", f"{layer}.{plan.output}"
    module: Any = modules[name]
    for role in (plan.query, plan.key, plan.value):
        if role is not None and f"{name}.{role}" not in modules:
            raise UnknownFamily(f"{label}: no projection {role!r} in {name}")
    if output_name not in modules:
        raise UnknownFamily(f"{label}: no output projection {output_name!r}")
    measured = {stack: numbers for stack, *numbers in family.measured}
    size, kv = measured.get(plan.stack) or (getattr(module, plan.size or "", None), None)
    if not isinstance(size, int):
        raise UnknownFamily(f"{label}: {name} does not say the size of a head ({plan.size!r})")
    count, rest = divmod(_width(modules[output_name], "in"), size)
    kv_rest = 0
    if kv is None:
        kv, kv_rest = divmod(_width(modules[f"{name}.{plan.key}"], "out") // (3 if plan.fused else 1), size)
    recorded = _recorded(config, stack, number)
    if hasattr(module, "kept_heads"):
        heads, groups = tuple(module.kept_heads), tuple(module.kept_groups)
    elif rest or kv_rest or (kv and count % kv):
        raise UnknownFamily(f"{label}: the widths of its projections are no multiples of the head size {size}")
    else:
        # transformers may have loaded a folder whose config says the number of heads, and the record which they are.
        heads = tuple(recorded) if recorded is not None and len(recorded) == count else tuple(range(count))
        groups = tuple(column * kv // count for column in range(count))
    return Attention(
        family,
        plan,
        stack,
        number,
        name,
        module,
        layer,
        modules[layer],
        output_name,
        modules[output_name],
        heads,
        size,
        groups,
    )


def _recorded(config: Any, stack: str, layer: int) -> list[int] | None:
    """The heads that the config's record keeps in a layer."""
    for recorded in (getattr(config, "headcount", None) or {}).get("stacks", ()):
        if recorded["stack"] == stack and layer < len(recorded["kept"]):
            return list(recorded["kept"][layer])
    return None


def _uses(
    shared: SharedLayers, layers: tuple[Attention, ...], config: Any, modules: dict[str, nn.Module]
) -> tuple[Attention, ...]:
    """The layers in the order of the pass, each one a use of one of the modules."""
    stars = layers[0].plan.layer.count("*")
    by_numbers = {tuple(map(int, re.findall(r"\.(\d+)", block.layer_name)[-stars:])): block for block in layers}
    door = next(module for name, module in modules.items() if name == shared.door or name.endswith(f".{shared.door}"))
    used: Counter[tuple[int, ...]] = Counter()
    uses = []
    for number, module_numbers in enumerate(shared.order(config)):
        uses.append(replace(by_numbers[module_numbers], layer=number, use=used[module_numbers], door=door))
        used[module_numbers] += 1
    return tuple(uses)


def is_projection(module: nn.Module) -> bool:
    """Whether the module is a plain product with a matrix."""
    return type(module) in (nn.Linear, Conv1D)


def _is_transposed(module: nn.Module) -> bool:
    """A Conv1D's weight is [in, out], a Linear's [out, in]."""
    return isinstance(module, Conv1D)


def _width(module: nn.Module, side: Literal["in", "out"]) -> int:
    weight: Any = module.weight
    return int(weight.shape[int((side == "in") != _is_transposed(module))])
