"""Removes attention heads and feed-forward units from a transformers model, so that its modules get smaller shapes.

This file needs only torch and transformers: a saved model carries a copy of it, so that it also loads where Headcount
is not installed. `config.headcount` says what to do: for each stack the paths and names of its parts and, layer by
layer, the heads (and perhaps the units) that are kept, by their original numbers. It works on a model with weights and
on one whose weights are yet to be loaded.
"""

import re
from collections import Counter
from math import gcd
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.pytorch_utils import Conv1D


def shrink(model: Any, record: Any) -> Any:
    """Shrink every layer of `model` to what `record` keeps; layers that have that shape already stay."""
    for stack in record["stacks"]:
        layers = layers_of(model, stack)
        if layers:  # a model for another task may lack the stack
            for layer, heads in zip(layers, stack["kept"], strict=True):
                shrink_layer(layer, stack, list(heads))
            for layer, units in zip(layers, stack.get("kept_units", ()), strict=False):
                shrink_units(layer, stack["feed_forward"], read_ranges(units))
    return model


def layers_of(model: Any, stack: Any) -> list[Any]:
    """The layers of a stack, in order."""
    modules = dict(model.named_modules())
    return [modules[name] for name in layer_names(modules, stack["layer"], stack["attention"])]


def layer_names(modules: Any, layer: str, attention: str) -> list[str]:
    """The names of the layers that have the attention, in order: `layer` is a path with `*` for a layer's number."""
    pattern = re.compile(r"(?:.*\.)??" + re.escape(layer).replace(r"\*", r"(\d+)"))
    names = {}
    for name in modules:
        match = pattern.fullmatch(name)
        if match and f"{name}.{attention}" in modules:
            names[tuple(map(int, match.groups()))] = name
    return [names[number] for number in sorted(names)]


def shrink_layer(layer: Any, stack: Any, heads: list[int]) -> None:
    """Keep the rows of query, key and value and the columns of the output projection of `heads`."""
    attention, output = layer.get_submodule(stack["attention"]), layer.get_submodule(stack["output"])
    size = getattr(attention, stack["size"])
    present = getattr(attention, "kept_heads", None)
    if present is None:
        present = list(range(width_of(output, "in") // size))
    parts = 3 if stack["fused"] else 1
    kv_heads = width_of(attention.get_submodule(stack["key"]), "out") // parts // size
    reads = getattr(attention, "kept_groups", None)
    if reads is None:
        reads = [column * kv_heads // len(present) for column in range(len(present))]
    attention.kept_heads = list(heads)
    columns = [list(present).index(head) for head in heads]
    groups = [reads[column] for column in columns]
    kept_groups = sorted(set(groups))
    attention.kept_groups = [kept_groups.index(group) for group in groups]
    if list(present) == heads:
        return
    if stack["fused"] == "by-part":
        rows = {stack["query"]: [part * len(present) + column for part in range(3) for column in columns]}
    elif stack["fused"] == "by-head":
        rows = {stack["query"]: [3 * column + part for column in columns for part in range(3)]}
    else:
        rows = {stack["query"]: columns, stack["key"]: kept_groups, stack["value"]: kept_groups}
        rows |= {name: columns for name in stack["further"] if hasattr(attention, name)}
    for name, blocks in rows.items():
        projection = attention.get_submodule(name)
        _take(projection, "out", blocks, size)
        if not heads:
            _silence(projection, parts * size)
    _take(output, "in", columns, size)
    if not heads:
        _silence(output, None)
    _set_numbers(attention, stack, heads, size)


def shrink_units(layer: Any, block: Any, units: list[int]) -> None:
    """Keep the rows of the projections into `units` and the columns of the projection out of them."""
    output = layer.get_submodule(block["output"])
    present = list(getattr(output, "kept_units", range(width_of(output, "in"))))
    output.kept_units = list(units)
    if present == units:
        return
    index = {unit: column for column, unit in enumerate(present)}
    columns = [index[unit] for unit in units]
    names = dict(layer.named_modules())
    for name in block["inputs"]:
        if name in names:
            _take(
                names[name],
                "out",
                [half * len(present) + column for half in range(block["halves"]) for column in columns],
                1,
            )
            if not units:
                _silence(names[name], block["halves"])
    _take(output, "in", columns, 1)
    if not units:
        _silence(output, None)


def read_ranges(text: str) -> list[int]:
    """The numbers of `0-3,7`."""
    numbers: list[int] = []
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _set_numbers(attention: Any, stack: Any, heads: list[int], size: int) -> None:
    """Set the attributes that the model's own code reads. A layer without heads runs with one head of zeros."""
    count = len(heads) or 1
    for name in stack["counts"]:
        setattr(attention, name, count)
    for name in stack["widths"]:
        setattr(attention, name, count * size)
    _unhook(attention)
    if stack["groups"]:
        readers = list(Counter(attention.kept_groups).values()) or [1]
        each = gcd(*readers)
        setattr(attention, stack["groups"], each)
        if len(set(readers)) > 1:
            attention.register_forward_pre_hook(SpreadGroups([count // each for count in readers]), with_kwargs=True)
    if stack["bias"]:
        attention.register_forward_pre_hook(ChooseBias(heads or [0]), with_kwargs=True)
        if hasattr(attention, "has_relative_attention_bias"):
            attention.register_forward_hook(GiveBiasOn(), with_kwargs=True)


def width_of(module: Any, side: str) -> int:
    """The number of a projection's inputs (in) or outputs (out)."""
    return int(module.weight.shape[dim_of(module, side)])


def dim_of(module: Any, side: str) -> int:
    """The dimension of a projection's weight for its inputs (in) or outputs (out).

    A Linear's weight is [out, in], a Conv1D's [in, out].
    """
    return int((side == "in") != isinstance(module, Conv1D))


def _take(module: Any, side: str, blocks: list[int], size: int) -> None:
    """Keep these blocks of `size` rows (out) or columns (in) of a projection."""
    indices = [block * size + row for block in blocks for row in range(size)]
    index = torch.tensor(indices, dtype=torch.long, device="cpu")

    def taken(old: nn.Parameter, dim: int) -> nn.Parameter:
        with torch.inference_mode(False):  # what is made in it can never be trained
            values = old.detach().clone().index_select(dim, index.to(old.device)).contiguous()
            return nn.Parameter(values, requires_grad=old.requires_grad)

    module.weight = taken(module.weight, dim_of(module, side))
    if side == "out" and module.bias is not None:
        module.bias = taken(module.bias, 0)
    for name in {"out": ("out_features", "nf"), "in": ("in_features", "nx")}[side]:
        if hasattr(module, name):
            setattr(module, name, len(index))


class _Silent:
    """A projection without rows gives zeros of the width `silent`; one without columns gives its bias."""

    silent: int | None
    weight: Any
    bias: Any

    def forward(self, states: Tensor) -> Tensor:
        # Through the empty weights, not past them: training on several devices waits for every parameter's gradient.
        weight = self.weight.T if isinstance(self, Conv1D) else self.weight
        if self.silent is None:
            return functional.linear(states[..., :0], weight, self.bias)
        return functional.pad(functional.linear(states, weight, self.bias), (0, self.silent))


class SilentLinear(_Silent, nn.Linear):
    pass


class SilentConv1D(_Silent, Conv1D):  # type: ignore[misc]
    pass


def _silence(module: Any, width: int | None) -> None:
    module.__class__ = SilentConv1D if isinstance(module, Conv1D) else SilentLinear
    module.silent = width


HOOKS = ("SpreadGroups", "ChooseBias", "GiveBiasOn")


def _unhook(module: Any) -> None:
    """Remove the hooks of an earlier cut."""
    for hooks, flags in (
        (module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs),
        (module._forward_hooks, module._forward_hooks_with_kwargs),
    ):
        # By name: the cut may have been made by the copy of this file that came with the model.
        for key in [key for key, hook in hooks.items() if type(hook).__name__ in HOOKS]:
            del hooks[key]
            flags.pop(key, None)


class ChooseBias:
    """T5, MPNet: the position bias [1, all heads, Q, K] is passed from layer to layer; each takes that of its heads."""

    def __init__(self, heads: list[int]) -> None:
        self.heads = list(heads)

    def __call__(self, module: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = list(args), dict(kwargs)
        if hasattr(module, "has_relative_attention_bias"):  # T5: the first layer makes it
            whole = kwargs.get("position_bias")
            if whole is None:
                whole = _first_bias(module, args[0] if args else kwargs["hidden_states"], kwargs)
            kwargs["position_bias"], kwargs["whole_position_bias"] = self._choose(whole), whole
        elif len(args) > 2:
            args[2] = self._choose(args[2])
        elif kwargs.get("position_bias") is not None:
            kwargs["position_bias"] = self._choose(kwargs["position_bias"])
        return tuple(args), kwargs

    def _choose(self, bias: Tensor) -> Tensor:
        return torch.cat([bias[:, head : head + 1] for head in self.heads], dim=1)


class GiveBiasOn:
    """T5: the next layer gets the bias of all heads."""

    def __call__(self, module: Any, args: Any, kwargs: Any, output: Any) -> Any:
        return (output[0], kwargs["whole_position_bias"], *output[2:])


def _first_bias(module: Any, hidden: Tensor, kwargs: Any) -> Any:
    cache, queries, states = kwargs.get("past_key_values"), hidden.shape[1], kwargs.get("key_value_states")
    if states is not None or not module.has_relative_attention_bias:
        return hidden.new_zeros(1, module.n_heads, queries, queries if states is None else states.shape[1])
    past = 0 if cache is None else cache.get_seq_length(module.layer_idx)
    keys = queries if cache is None else cache.get_mask_sizes(queries, module.layer_idx)[0]
    return module.compute_bias(queries, keys, device=hidden.device, past_seen_tokens=past)


class SpreadGroups:
    """Llama and its like, with groups of unequal size: after the cache, each key and value as often as it is read."""

    def __init__(self, times: list[int]) -> None:
        self.times = list(times)

    def __call__(self, module: Any, args: Any, kwargs: Any) -> Any:
        return args, {**kwargs, "past_key_values": _Spreading(kwargs.get("past_key_values"), self.times)}


class _Spreading:
    def __init__(self, cache: Any, times: list[int]) -> None:
        self.cache, self.times = cache, times

    def update(self, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if self.cache is not None:
            key, value = self.cache.update(key, value, *args, **kwargs)
        return self._spread(key), self._spread(value)

    def _spread(self, states: Tensor) -> Tensor:
        return torch.cat([states[:, group : group + 1].expand(-1, n, -1, -1) for group, n in enumerate(self.times)], 1)
