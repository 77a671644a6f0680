"""Uniform attention: every query attends equally to all keys that its mask allows.

An attention sink, as GPT-OSS has one for each head, is not a key: it gets no weight, and the weights of a row sum to 1.
What a head gives to its sink depends on its queries and keys, and these are what the replacement leaves out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headcount.trace.call import AttentionCall
from headcount.trace.masks import ROWS, allowed_keys, allowed_rows, is_triangular
from headcount.trace.precision import wide, widened


def uniform_outputs(call: AttentionCall, chosen: list[int] | None = None) -> Tensor:
    """The outputs [B, Q, heads, D] of uniform attention for some heads of the layer, or for all.

    A mean of values: no attention map is built. A query without an allowed key gets zero.
    """
    values = call.by_head(call.value) if chosen is None else call.value[:, [call.reads[number] for number in chosen]]
    if is_triangular(call):
        # A static cache is longer than what has been read: the running mean stops at the queries.
        values = values[:, :, : call.queries]
        steps = torch.arange(1, call.queries + 1, device=values.device)[:, None]
        means = widened(values).cumsum(2).div(steps).to(values.dtype)
    elif call.mask is None and "flash" not in call.implementation:
        means = values.mean(2, keepdim=True)
    else:
        allowed, count = (_of_heads(tensor, chosen) for tensor in allowed_rows(call))
        sums = torch.matmul(allowed.to(values.dtype), values)
        means = sums / count
    return means.transpose(1, 2).expand(-1, call.queries, -1, -1)


def _of_heads(tensor: Tensor, chosen: list[int] | None) -> Tensor:
    """The part [B, 1 or heads, ...] of some heads from [B, 1 or H, ...]: most masks are the same for all heads."""
    return tensor if chosen is None or tensor.shape[1] == 1 else tensor[:, chosen]


def uniform_weights(call: AttentionCall, chosen: list[int] | None = None) -> Tensor:
    """The maps [B or 1, 1 or heads, Q, K] of uniform attention for some heads of the layer, or for all."""
    allowed = allowed_keys(call)
    if allowed is None:
        keys = call.value.shape[2]
        return call.value.new_full((1, 1, call.queries, keys), 1 / keys)
    allowed = _of_heads(allowed, chosen)
    return allowed.to(wide(call.value.dtype)) / allowed.sum(-1, keepdim=True).clamp(min=1)


def uniform_mass(call: AttentionCall, classes: Tensor) -> Tensor:
    """Uniform attention of each query to classes [B, K, C] of keys: [B, 1 or H, Q, C]; no map is built."""
    if is_triangular(call):
        steps = torch.arange(1, call.queries + 1, device=classes.device, dtype=classes.dtype)[:, None]
        return (classes[:, : call.queries].cumsum(1) / steps)[:, None]
    if allowed_keys(call.of_queries(slice(0, 1))) is None:
        return classes.mean(1)[:, None, None].expand(-1, -1, call.queries, -1)
    parts = [
        uniform_weights(call.of_queries(slice(start, start + ROWS))).to(classes.dtype) @ classes[:, None]
        for start in range(0, call.queries, ROWS)
    ]
    return torch.cat(parts, 2)
