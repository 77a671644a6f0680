"""What attention that is spread evenly over all allowed keys would give: the chance level of shares of attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from headcount.trace.call import AttentionCall
from headcount.trace.masks import ROWS, allowed_keys, allowed_rows, is_triangular

_mass_of_masks: Any = WeakTensorKeyDictionary()


def uniform_mass(call: AttentionCall, classes: Tensor) -> Tensor:
    """What each query would give to classes of keys [B, K, C]: [B, 1 or H, Q or 1, C]."""
    classes = classes.float()
    if is_triangular(call):
        return classes.cumsum(1)[:, None, : call.queries] / _places(call, classes)[:, None]
    if _is_open(call):
        return classes.mean(1)[:, None, None]
    mask = call.mask
    if not isinstance(mask, Tensor) or mask.ndim != 4 or mask.is_inference():
        return _by_parts(call, classes)
    # All layers of a pass share their masks, and the classes do not depend on the layer.
    known = _mass_of_masks.get(mask)
    if known is None or known[0] != mask._version or not torch.equal(known[1], classes):
        known = mask._version, classes, _by_parts(call, classes)
        _mass_of_masks[mask] = known
    mass: Tensor = known[2]
    return mass


def uniform_diagonal(call: AttentionCall, offset: int) -> Tensor:
    """What each query would give to the key `offset` positions after it, as `AttentionView.diagonal`."""
    queries, keys = call.queries, call.value.shape[2]
    start, stop = max(0, -offset), max(0, min(queries, keys - offset))
    if is_triangular(call):
        share = 1 / _places(call, call.value)[None, None, start:stop]
        return share if offset <= 0 else torch.zeros_like(share)
    if _is_open(call):
        return torch.full((1, 1, max(0, stop - start)), 1 / keys, device=call.value.device)
    parts = []
    for first, allowed in _parts(call):
        rows = torch.arange(max(first, start), min(first + allowed.shape[2], stop), device=allowed.device)
        share = allowed[:, :, rows - first, rows + offset] / allowed[:, :, rows - first].sum(-1).clamp(min=1)
        parts.append(share)
    return torch.cat(parts, -1)


def _places(call: AttentionCall, like: Tensor) -> Tensor:
    return torch.arange(1.0, call.queries + 1, device=like.device)


def _is_open(call: AttentionCall) -> bool:
    return call.mask is None and "flash" not in call.implementation


def _by_parts(call: AttentionCall, classes: Tensor) -> Tensor:
    one_row = isinstance(call.mask, Tensor) and call.mask.ndim == 4 and allowed_rows(call)[0].shape[2] == 1
    sums = []
    for _, allowed in _parts(call):
        rows = (allowed[:, :, :1] if one_row else allowed).float()
        sums.append(rows @ classes[:, None] / rows.sum(-1, keepdim=True).clamp(min=1))
        if one_row:
            break
    return torch.cat(sums, 2)


def _parts(call: AttentionCall) -> Iterator[tuple[int, Tensor]]:
    """The first query of some, and which keys these may attend to [B or 1, 1 or H, some, K]."""
    whole = allowed_rows(call)[0] if isinstance(call.mask, Tensor) and call.mask.ndim == 4 else None
    for start in range(0, call.queries, ROWS):
        stop = min(start + ROWS, call.queries)
        if whole is None:
            allowed = allowed_keys(call.of_queries(slice(start, stop)))
            if allowed is None:  # flash kernels without padding: every key is open
                allowed = torch.ones(1, 1, 1, call.value.shape[2], dtype=torch.bool, device=call.value.device)
            yield start, allowed.expand(-1, -1, stop - start, -1)
        elif whole.shape[2] == 1:
            yield start, whole.expand(-1, -1, stop - start, -1)
        else:
            yield start, whole[:, :, start:stop]
