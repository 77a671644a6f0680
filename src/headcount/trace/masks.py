"""Which keys each query may attend to, read from any kind of mask that kernels take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from headcount.errors import UnknownFamily
from headcount.trace.call import AttentionCall

T = TypeVar("T")
ROWS = 512
"""Queries at a time, where a mask is worked out and not kept."""
_rows_of_masks: Any = WeakTensorKeyDictionary()
_plain_masks: Any = WeakTensorKeyDictionary()


def _kept(cache: Any, mask: Tensor, compute: Callable[[], T]) -> T:
    """What is computed from a mask, kept as long as the mask itself, which all layers of a pass share.

    A mask that is changed in place gets a new version; tensors of inference mode have none, and nothing is kept.
    """
    if mask.is_inference():
        return compute()
    if mask not in cache or cache[mask][0] != mask._version:
        cache[mask] = mask._version, compute()
    value: T = cache[mask][1]
    return value


def open_entries(mask: Tensor) -> Tensor:
    """Bool, of the mask's shape: where it allows attention."""
    return mask > torch.finfo(mask.dtype).min / 2 if mask.dtype.is_floating_point else mask.bool()


def is_causal(call: AttentionCall) -> bool:
    """Whether the kernel itself hides the future, without a mask: sdpa and flash do so, eager never."""
    queries = call.queries if call.part is None else call.part.of_queries
    if call.mask is not None or call.implementation in ("eager", "module") or queries == 1:
        return False
    flag = call.options.get("is_causal")
    return bool(getattr(call.block.module, "is_causal", True) if flag is None else flag)


def is_triangular(call: AttentionCall) -> bool:
    """Whether the queries may attend to all keys up to their own position and to no others, without a mask."""
    if "flash" not in call.implementation:
        return is_causal(call)
    return is_causal(call) and window_of(call) is None and call.value.shape[2] == call.queries


def allowed_keys(call: AttentionCall) -> Tensor | None:
    """Bool [B or 1, 1 or H, Q, K], or None where every query may attend to every key."""
    mask, keys, device = call.mask, call.value.shape[2], call.value.device
    if mask is None or (isinstance(mask, Tensor) and mask.ndim == 2):
        return _from_padding(call, mask, keys, device)
    if isinstance(mask, Tensor):
        return open_entries(mask)
    if hasattr(mask, "mask_mod"):
        from torch.nn.attention.flex_attention import create_mask

        # A mask that was made for one example or one head is the same for all of them.
        batch = call.value.shape[0] if mask.shape[0] > 1 else 1
        heads = len(call.block.heads) if mask.shape[1] > 1 else 1
        return create_mask(_of_part(mask.mask_mod, call), batch, heads, call.queries, keys, device=device)
    raise UnknownFamily(f"{call.block.name}: got a mask of type {type(mask).__name__}, which is not understood")


def _of_part(allows: Callable[..., Tensor], call: AttentionCall) -> Callable[..., Tensor]:
    """What a flex mask says of the queries and keys of a part."""
    part = call.part
    if part is None:
        return allows
    return lambda batch, head, query, key: allows(batch, head, part.positions[query], key + part.first_key)


def _positions(call: AttentionCall, device: torch.device) -> tuple[Tensor, Tensor]:
    """The positions of the queries [Q] and of the keys [K], in one text."""
    key = torch.arange(call.value.shape[2], device=device)
    part, queries, keys = call.part, call.queries, call.value.shape[2]
    query = torch.arange(call.queries, device=device)
    if part is not None:
        query, key, queries, keys = part.positions, key + part.first_key, part.of_queries, part.of_keys
    # Flash kernels align the last query with the last key.
    return (query + keys - queries if "flash" in call.implementation else query), key


def window_of(call: AttentionCall) -> int | None:
    """The sliding window of flash kernels; the other kernels have it in their masks."""
    return call.options.get("sliding_window") if "flash" in call.implementation else None


def hides_future(call: AttentionCall) -> bool:
    return is_causal(call) or ("flash" in call.implementation and bool(getattr(call.block.module, "is_causal", True)))


def _from_padding(call: AttentionCall, padding: Tensor | None, keys: int, device: torch.device) -> Tensor | None:
    """Flash kernels take only the padding [B, K] and the window; sdpa takes no mask for plain causal attention."""
    window, causal = window_of(call), hides_future(call)
    if not causal and window is None and padding is None:
        return None
    query, key = _positions(call, device)
    query = query[:, None]
    allowed = torch.ones(1, 1, call.queries, keys, dtype=torch.bool, device=device)
    if causal:
        allowed = allowed & (key <= query)
    if window is not None:
        # Flash counts the window inclusive of the query: a distance of window - 1 is still seen.
        allowed = allowed & (query - key < window) & (key - query < window)
    return allowed if padding is None else allowed & padding.bool()[:, None, None, -keys:]


def seen_by_all(call: AttentionCall) -> int:
    """How many of the first keys are known to be open to every query: those before the first one, if that is all."""
    if not is_causal(call) or "flash" in call.implementation:
        return 0
    return 1 if call.part is None else max(0, min(call.part.first_query + 1 - call.part.first_key, call.value.shape[2]))


def reached_keys(call: AttentionCall, start: int, stop: int) -> tuple[int, int]:
    """The first key that some query of a range may attend to, and the one after the last."""
    mask, keys = call.mask, call.value.shape[2]
    first, last = 0, keys
    if isinstance(mask, Tensor) and mask.ndim == 4:
        if mask.shape[3] == keys:
            rows = mask if mask.shape[2] == 1 else mask[:, :, start:stop]
            reached = open_entries(rows).flatten(0, 2).any(0).nonzero()
            first, last = (int(reached[0]), int(reached[-1]) + 1) if len(reached) else (0, 1)
    elif mask is None or isinstance(mask, Tensor):
        offset = keys - call.queries if "flash" in call.implementation else 0
        window, causal = window_of(call), hides_future(call)
        if window is not None:
            first, last = start + offset - window + 1, stop - 1 + offset + window
        if causal:
            last = stop + offset
    last = max(1, min(keys, last))
    return max(0, min(first, last - 1)), last


def allowed_counts(call: AttentionCall) -> Tensor:
    """The number of keys that each query may attend to, as floats [B or 1, 1 or H, Q or 1]."""
    if is_triangular(call):
        return torch.arange(1.0, call.queries + 1, device=call.value.device)[None, None]
    if call.mask is None and "flash" not in call.implementation:
        return torch.full((1, 1, 1), float(call.value.shape[2]), device=call.value.device)
    if isinstance(call.mask, Tensor) and call.mask.ndim == 4:
        return allowed_rows(call)[1][..., 0].float()
    return torch.cat([_allowed_rows(part)[1][..., 0].float() for part in _small_parts(call)], -1)


def _small_parts(call: AttentionCall) -> list[AttentionCall]:
    """The call in ranges of queries, where what is allowed must be worked out: there is no mask of that size."""
    return [call.of_queries(slice(start, min(start + ROWS, call.queries))) for start in range(0, call.queries, ROWS)]


def allowed_rows(call: AttentionCall) -> tuple[Tensor, Tensor]:
    """Allowed keys and their number [B, 1 or H, Q or 1, K or 1]; one row where it is the same for all queries."""
    if isinstance(call.mask, Tensor) and call.mask.ndim == 4:
        return _kept(_rows_of_masks, call.mask, lambda: _allowed_rows(call))
    return _allowed_rows(call)


def _allowed_rows(call: AttentionCall) -> tuple[Tensor, Tensor]:
    allowed = allowed_keys(call)
    assert allowed is not None  # a mask was given
    # On a GPU the comparison would wait for the device, and the larger product costs nothing there.
    if call.part is None and allowed.device.type == "cpu" and bool((allowed == allowed[:, :, :1]).all()):
        allowed = allowed[:, :, :1]
    return allowed, allowed.sum(-1, keepdim=True).clamp(min=1)


def hides_only(mask: Any) -> bool:
    """Whether a mask only hides keys; one of floats may also add biases to scores, as ALiBi does."""
    if not isinstance(mask, Tensor) or not mask.dtype.is_floating_point:
        return True
    lowest = torch.finfo(mask.dtype).min / 2
    return _kept(_plain_masks, mask, lambda: bool(((mask == 0) | (mask <= lowest)).all()))
