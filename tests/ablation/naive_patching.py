"""Patching the plain way: three passes with hooks of torch's own for every head, one example at a time, in float64.

The first pass records what the giving input does. The second runs the other input with a part of the whole layer from
the first, and records what this makes of one head. The third runs it with the output of that head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Layer:
    """The modules of one layer's attention, and where its keys and values come from."""

    query: nn.Module
    key: nn.Module
    value: nn.Module
    output: nn.Module
    heads: int
    groups: int
    maps: Callable[[Any], Tensor]
    """From a result with `output_attentions` to the layer's map [1, heads, Q, K]."""


def layers_of(model: Any, stack: str) -> list[Layer]:
    """The layers of a BERT, a Llama or a T5."""
    found = []
    kind, config = model.config.model_type, model.config
    if kind == "bert":
        for number, layer in enumerate(model.bert.encoder.layer):
            own = layer.attention.self
            heads = config.num_attention_heads
            modules = (own.query, own.key, own.value, layer.attention.output.dense)
            found.append(Layer(*modules, heads, heads, lambda result, number=number: result.attentions[number]))
    elif kind == "llama":
        for number, layer in enumerate(model.model.layers):
            own = layer.self_attn
            modules = (own.q_proj, own.k_proj, own.v_proj, own.o_proj)
            counts = (config.num_attention_heads, config.num_key_value_heads)
            found.append(Layer(*modules, *counts, lambda result, number=number: result.attentions[number]))
    else:
        blocks = model.encoder.block if stack == "encoder" else model.decoder.block
        names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
        for number, block in enumerate(blocks):
            own = block.layer[1].EncDecAttention if stack == "cross" else block.layer[0].SelfAttention
            modules = (own.q, own.k, own.v, own.o)
            maps = lambda result, number=number: result[names[stack]][number]
            found.append(Layer(*modules, config.num_heads, config.num_heads, maps))
    return found


@contextmanager
def replacing(module: nn.Module, change: Callable[[Tensor], Tensor], before: bool = False) -> Iterator[None]:
    """Change a module's input or output inside the context."""
    if before:
        handle = module.register_forward_pre_hook(lambda _, args: (change(args[0]), *args[1:]))
    else:
        handle = module.register_forward_hook(lambda _, __, output: change(output))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def recording(module: nn.Module, kept: list[Tensor], before: bool = False) -> Iterator[None]:
    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.clone())
        return tensor

    with replacing(module, keep, before):
        yield


@torch.no_grad()
def patched(model: Any, base: Any, giver: Any, stack: str, at: tuple[int, int], part: str, where: Any) -> Any:
    """The model's result on `base` with a part of a head (layer, head) from `giver`, at some positions or all."""
    layer = layers_of(model, stack)[at[0]]
    module = layer.output if part == "output" else {n: getattr(layer, n) for n in ("query", "key", "value")}.get(part)
    given: list[Tensor] = []
    if part == "weights":
        weights = layer.maps(model(**giver, output_attentions=True))
        values: list[Tensor] = []
        with recording(layer.value, values):
            model(**base)
        value = values[0].unflatten(-1, (layer.groups, -1)).transpose(1, 2)
        value = value.repeat_interleave(layer.heads // layer.groups, 1)
        made = (weights @ value).transpose(1, 2).flatten(2)
        return _with_output(model, base, layer, at[1], made, where)
    assert module is not None
    with recording(module, given, before=part == "output"):
        model(**giver)
    if part == "output":
        return _with_output(model, base, layer, at[1], given[0], where)

    def change(tensor: Tensor) -> Tensor:
        return _at(tensor, given[0], where)

    made_by: list[Tensor] = []
    with replacing(module, change), recording(layer.output, made_by, before=True):
        model(**base)
    # What the whole layer makes of it; one head alone gets it. Keys and values change the head everywhere.
    return _with_output(model, base, layer, at[1], made_by[0], where if part == "query" else None)


def _with_output(model: Any, base: Any, layer: Layer, head: int, made: Tensor, where: Any) -> Any:
    size = made.shape[-1] // layer.heads
    columns = slice(head * size, (head + 1) * size)

    def change(tensor: Tensor) -> Tensor:
        edited = tensor.clone()
        edited[..., columns] = _at(tensor, made, where)[..., columns]
        return edited

    with replacing(layer.output, change, before=True):
        return model(**base)


def _at(own: Tensor, other: Tensor, where: Any) -> Tensor:
    """`other` at the positions `where`, `own` elsewhere; `where` may map positions of one to those of the other."""
    if where is None:
        return other
    edited = own.clone()
    pairs = where.items() if isinstance(where, dict) else [(position, position) for position in where]
    for here, there in pairs:
        edited[:, here] = other[:, there]
    return edited
