"""Takes attention heads out of a model of transformers, so that its modules have the shapes of the heads that stay.

This file needs torch and transformers alone: a saved model carries a copy of it, so that it also loads where Headcount
is not installed. What it does is written in `config.headcount`: for each stack the paths and names of its parts and,
layer by layer, the heads that are kept, by their original numbers. It works on a model with weights and on one whose
weights are yet to be loaded.
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
    """Shrink every layer of `model` to the heads that `record` keeps; layers that have that shape already stay."""
    for stack in record["stacks"]:
        layers = layers_of(model, stack)
        if layers:  # a model for another task may lack the stack
            for layer, heads in zip(layers, stack["kept"], strict=True):
                shrink_layer(layer, stack, list(heads))
    return model


def layers_of(model: Any, stack: Any) -> list[Any]:
    """The layers of a stack that have its attention, in order."""
    pattern = re.compile(r"(?:.*\.)??" + re.escape(stack["layer"]).replace(r"\*", r"(\d+)"))
    modules = dict(model.named_modules())
    found = {}
    for name, module in modules.items():
        match = pattern.fullmatch(name)
        if match and f"{name}.{stack['attention']}" in modules:
            found[tuple(map(int, match.groups()))] = module
    return [found[number] for number in sorted(found)]


def shrink_layer(layer: Any, stack: Any, heads: list[int]) -> None:
    """Keep the rows of query, key and value and the columns of the output projection of `heads`."""
    attention, output = layer.get_submodule(stack["attention"]), layer.get_submodule(stack["output"])
    size = getattr(attention, stack["size"])
    present = getattr(attention, "kept_heads", None)
    if present is None:
        present = list(range(_width(output, "in") // size))
    parts = 3 if stack["fused"] else 1
    kv_heads = _width(attention.get_submodule(stack["key"]), "out") // parts // size
    reads = getattr(attention, "kept_groups", None)
    if reads is None:
        reads = [place * kv_heads // len(present) for place in range(len(present))]
    attention.kept_heads = list(heads)
    places = [list(present).index(head) for head in heads]
    groups = [reads[place] for place in places]
    kept_groups = sorted(set(groups))
    attention.kept_groups = [kept_groups.index(group) for group in groups]
    if list(present) == heads:
        return
    if stack["fused"] == "by-part":
        rows = {stack["query"]: [part * len(present) + place for part in range(3) for place in places]}
    elif stack["fused"] == "by-head":
        rows = {stack["query"]: [3 * place + part for place in places for part in range(3)]}
    else:
        rows = {stack["query"]: places, stack["key"]: kept_groups, stack["value"]: kept_groups}
        rows |= {name: places for name in stack["further"] if hasattr(attention, name)}
    for name, blocks in rows.items():
        projection = attention.get_submodule(name)
        _take(projection, "out", blocks, size)
        if not heads:
            _silence(projection, parts * size)
    _take(output, "in", places, size)
    if not heads:
        _silence(output, None)
    _tell(attention, stack, heads, size)


def _tell(attention: Any, stack: Any, heads: list[int], size: int) -> None:
    """Say the new numbers where the model's own code reads them. A layer without heads runs with one head of zeros."""
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


def _width(module: Any, side: str) -> int:
    return int(module.weight.shape[_dim(module, side)])


def _dim(module: Any, side: str) -> int:
    """A Linear's weight is [out, in], a Conv1D's [in, out]."""
    return int((side == "in") != isinstance(module, Conv1D))


def _take(module: Any, side: str, blocks: list[int], size: int) -> None:
    """Keep these blocks of `size` rows (out) or columns (in) of a projection."""
    index = torch.tensor([block * size + at for block in blocks for at in range(size)], dtype=torch.long, device="cpu")

    def taken(old: nn.Parameter, dim: int) -> nn.Parameter:
        with torch.inference_mode(False):  # what is made in it can never be trained
            values = old.detach().clone().index_select(dim, index.to(old.device)).contiguous()
            return nn.Parameter(values, requires_grad=old.requires_grad)

    module.weight = taken(module.weight, _dim(module, side))
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
    """Take off the hooks of an earlier cut."""
    for hooks, flags in (
        (module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs),
        (module._forward_hooks, module._forward_hooks_with_kwargs),
    ):
        # By name: the cut may have been made by the copy of this file that came with the model.
        for key in [key for key, one in hooks.items() if type(one).__name__ in HOOKS]:
            del hooks[key]
            flags.pop(key, None)


class ChooseBias:
    """T5, MPNet: the position bias [1, all heads, Q, K] goes from layer to layer; each takes that of its own."""

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
    """Llama and its like, with groups of unlike size: behind the cache, each key and value as often as it is read."""

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
        return torch.cat([states[:, at : at + 1].expand(-1, times, -1, -1) for at, times in enumerate(self.times)], 1)
