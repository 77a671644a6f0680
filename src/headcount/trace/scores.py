"""The formula of attention: scores from query, key, scale, softcap, position bias and mask, and their softmax."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from headcount.errors import UnknownFamily
from headcount.trace.call import AttentionCall
from headcount.trace.masks import allowed_keys, hides_only, is_causal, open_entries, seen_by_all
from headcount.trace.precision import widened

CLOSED = torch.finfo(torch.float32).min / 4
"""The score of a key that a query may not attend to."""


class Exponentials(NamedTuple):
    """Rows of an attention map before they are divided by their sums."""

    weights: Tensor
    """[B, H, Q, K], float32 or better; a row of zeros where a query may attend to nothing."""
    largest: Tensor
    """The largest entry of each row [B, H, Q]."""
    column: Tensor
    """The key of that entry [B, H, Q]."""
    sink: Tensor | None = None
    """The entry of the sink [B, H, Q], where the family has sinks."""


def exponentials(call: AttentionCall) -> Exponentials:
    """The attention map of a call times its row sums, built in place: exp(score - largest score of the row)."""
    if call.weights is not None:
        weights = widened(call.weights)
        return Exponentials(weights, *weights.max(-1))
    scores = _scores(call)
    largest, column = scores.max(-1)
    largest = widened(largest)
    sinks = None if call.sinks is None else call.sinks.to(scores.dtype)[:, None]
    shift = largest if sinks is None else torch.maximum(largest, sinks)
    is_wide = scores.dtype == shift.dtype
    weights = (scores.sub_(shift[..., None]) if is_wide else scores - shift[..., None]).exp_()
    if sinks is not None:
        return Exponentials(weights, (largest - shift).exp(), column, (sinks - shift).exp())
    if call.mask is not None and bool((closed := largest < _closed(scores.dtype) / 2).any()):
        weights.masked_fill_(closed[..., None], 0)  # a query without an allowed key
    return Exponentials(weights, torch.ones_like(largest), column)


def _scores(call: AttentionCall) -> Tensor:
    """Scores before the softmax; `CLOSED` for keys that are not allowed.

    In float32 or better, unless nothing is added to products in half precision.
    """
    if call.query is None or call.key is None:
        raise UnknownFamily(f"{call.block.name}: its attention weights are not handed out")
    for name in ("sinks", "block_indices"):
        if call.options.get(name) is not None:
            raise UnknownFamily(f"{call.block.name}: attention with {name!r} is not understood")
    scores = _products(call)
    softcap, bias, mask = call.options.get("softcap"), call.options.get("position_bias"), call.mask
    added = isinstance(mask, Tensor) and mask.dtype.is_floating_point and mask.ndim == 4
    if added or softcap is not None or bias is not None or call.sinks is not None:
        scores = widened(scores)
    if softcap is not None:
        scores.div_(softcap).tanh_().mul_(softcap)
    if bias is not None:
        scores = scores + bias[..., : scores.shape[-1]]
    if added:
        return scores.add_(mask.to(scores.dtype).masked_fill(mask <= torch.finfo(mask.dtype).min / 2, CLOSED))
    allowed, first = allowed_keys(call), seen_by_all(call)
    if allowed is not None:
        scores[..., first:].masked_fill_(~allowed[..., first:], _closed(scores.dtype))
    return scores


def _closed(dtype: torch.dtype) -> float:
    return max(CLOSED, torch.finfo(dtype).min)


def _products(call: AttentionCall) -> Tensor:
    """Queries times keys [B, H, Q, K]: the heads that read the same keys side by side, so that no key is copied."""
    assert call.query is not None
    assert call.key is not None
    query, key = call.query * call.scale, call.key
    batch, heads, queries, size = query.shape
    if heads % key.shape[1]:
        return query @ call.by_head(key).transpose(2, 3)
    grouped = query.reshape(batch, key.shape[1], -1, size) @ key.transpose(2, 3)
    return grouped.view(batch, heads, queries, -1)


def is_linear(call: AttentionCall) -> bool:
    """Whether the scores are queries times keys and nothing else but a mask."""
    options = call.options
    return (
        call.weights is None
        and call.query is not None
        and all(options.get(name) is None for name in ("softcap", "position_bias", "s_aux"))
        and hides_only(call.mask)
    )


def entropy_without_map(call: AttentionCall) -> Tensor | None:
    """The entropy of each row [B, H, Q] by one more call of the kernel; None where it gives no logsumexp."""
    query, mask = call.query, call.mask
    if query is None or query.device.type != "cpu" or query.dtype not in (torch.float32, torch.float64):
        return None
    if mask is not None:
        if not isinstance(mask, Tensor) or mask.ndim != 4 or bool((~open_entries(mask)).all(-1).any()):
            return None  # the kernel gives no entropy for a row without an allowed key
        if mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(~mask, float("-inf"))
    assert call.key is not None
    key = call.by_head(call.key)
    mean: Tensor
    total: Tensor
    mean, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, key, 0.0, is_causal(call), attn_mask=mask, scale=call.scale
    )
    return (total - (query * mean).sum(-1) * call.scale).clamp(min=0)
