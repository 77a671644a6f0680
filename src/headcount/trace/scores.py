"""The formula of attention: scores from query, key, scale, softcap, position bias and mask, and their softmax."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from headcount.errors import UnknownFamily
from headcount.trace.call import AttentionCall
from headcount.trace.masks import allowed_keys, hides_only, is_causal, open_entries
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
    if call.sinks is None:
        weights = scores.sub_(largest[..., None]).exp_()
        if call.mask is not None and bool((closed := largest < CLOSED / 2).any()):
            weights.masked_fill_(closed[..., None], 0)  # a query without an allowed key
        return Exponentials(weights, torch.ones_like(largest), column)
    sinks = call.sinks.to(scores.dtype)[:, None]
    shift = torch.maximum(largest, sinks)
    weights = scores.sub_(shift[..., None]).exp_()
    return Exponentials(weights, (largest - shift).exp(), column, (sinks - shift).exp())


def _scores(call: AttentionCall) -> Tensor:
    """Scores before the softmax, float32 or better; `CLOSED` for keys that are not allowed."""
    if call.query is None or call.key is None:
        raise UnknownFamily(f"{call.block.name}: its attention weights are not handed out")
    for name in ("sinks", "block_indices"):
        if call.options.get(name) is not None:
            raise UnknownFamily(f"{call.block.name}: attention with {name!r} is not understood")
    scores = widened((call.query * call.scale) @ call.by_head(call.key).transpose(2, 3))
    softcap, bias, mask = call.options.get("softcap"), call.options.get("position_bias"), call.mask
    if softcap is not None:
        scores.div_(softcap).tanh_().mul_(softcap)
    if bias is not None:
        scores = scores + bias[..., : scores.shape[-1]]
    if isinstance(mask, Tensor) and mask.dtype.is_floating_point and mask.ndim == 4:
        return scores.add_(mask.to(scores.dtype).masked_fill(mask <= torch.finfo(mask.dtype).min / 2, CLOSED))
    allowed = allowed_keys(call)
    return scores if allowed is None else scores.masked_fill_(~allowed, CLOSED)


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
