"""Which keys each query may attend to, read from any kind of mask that kernels take."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from headcount.errors import UnknownFamily
from headcount.trace.call import AttentionCall

# All layers of a pass share a mask: what is derived from it is kept as long as the mask itself.
_rows_of_masks: Any = WeakTensorKeyDictionary()
_plain_masks: Any = WeakTensorKeyDictionary()


def is_causal(call: AttentionCall) -> bool:
    """Whether the kernel itself hides the future, without a mask: sdpa and flash do so, eager never."""
    if call.mask is not None or call.implementation in ("eager", "module") or call.queries == 1:
        return False
    flag = call.options.get("is_causal")
    return bool(getattr(call.block.module, "is_causal", True) if flag is None else flag)


def allowed_keys(call: AttentionCall) -> Tensor | None:
    """Bool [B or 1, 1 or H, Q, K], or None where every query may attend to every key."""
    mask, keys, device = call.mask, call.value.shape[2], call.value.device
    if mask is None or (isinstance(mask, Tensor) and mask.ndim == 2):
        return _from_padding(call, mask, keys, device)
    if isinstance(mask, Tensor):
        if mask.dtype.is_floating_point:
            return mask > torch.finfo(mask.dtype).min / 2
        return mask.bool()
    if hasattr(mask, "mask_mod"):
        from torch.nn.attention.flex_attention import create_mask

        # A mask that was made for one example or one head is the same for all of them.
        batch = call.value.shape[0] if mask.shape[0] > 1 else 1
        heads = len(call.block.heads) if mask.shape[1] > 1 else 1
        return create_mask(mask.mask_mod, batch, heads, call.queries, keys, device=device)
    raise UnknownFamily(f"{call.block.name}: got a mask of type {type(mask).__name__}, which is not understood")


def _from_padding(call: AttentionCall, padding: Tensor | None, keys: int, device: torch.device) -> Tensor | None:
    """Flash kernels take only the padding [B, K] and the window; sdpa takes no mask for plain causal attention."""
    flash = "flash" in call.implementation
    window = call.options.get("sliding_window") if flash else None
    causal = is_causal(call) or (flash and bool(getattr(call.block.module, "is_causal", True)))
    if not causal and window is None and padding is None:
        return None
    key = torch.arange(keys, device=device)
    query = torch.arange(call.queries, device=device)[:, None]
    if flash:
        query = query + keys - call.queries
    allowed = torch.ones(1, 1, call.queries, keys, dtype=torch.bool, device=device)
    if causal:
        allowed = allowed & (key <= query)
    if window is not None:
        # Flash counts the window inclusive of the query: a distance of window - 1 is still seen.
        allowed = allowed & (query - key < window) & (key - query < window)
    return allowed if padding is None else allowed & padding.bool()[:, None, None, -keys:]


def allowed_counts(call: AttentionCall) -> Tensor:
    """The number of keys that each query may attend to, as floats [B or 1, 1 or H, Q or 1]."""
    if is_causal(call):
        return torch.arange(1.0, call.queries + 1, device=call.value.device)[None, None]
    if call.mask is None and "flash" not in call.implementation:
        return torch.full((1, 1, 1), float(call.value.shape[2]), device=call.value.device)
    return allowed_rows(call)[1][..., 0].float()


def allowed_rows(call: AttentionCall) -> tuple[Tensor, Tensor]:
    """Allowed keys and their number [B, 1 or H, Q or 1, K or 1]; one row where it is the same for all queries."""
    # A mask that is changed in place gets a new version; tensors of inference mode have none to go by.
    shareable = isinstance(call.mask, Tensor) and call.mask.ndim == 4 and not call.mask.is_inference()
    if shareable and call.mask in _rows_of_masks:
        version, rows = _rows_of_masks[call.mask]
        if version == call.mask._version:
            return rows  # type: ignore[no-any-return]
    allowed = allowed_keys(call)
    assert allowed is not None  # a mask was given
    # On a GPU the comparison would wait for the device, and the larger product costs nothing there.
    if allowed.device.type == "cpu" and bool((allowed == allowed[:, :, :1]).all()):
        allowed = allowed[:, :, :1]
    rows = allowed, allowed.sum(-1, keepdim=True).clamp(min=1)
    if shareable:
        _rows_of_masks[call.mask] = call.mask._version, rows
    return rows


def hides_only(mask: Any) -> bool:
    """Whether a mask only hides keys; one of floats may also add biases to scores, as ALiBi does."""
    if not isinstance(mask, Tensor) or not mask.dtype.is_floating_point:
        return True
    shareable = not mask.is_inference()
    if shareable and mask in _plain_masks and _plain_masks[mask][0] == mask._version:
        return bool(_plain_masks[mask][1])
    plain = bool(((mask == 0) | (mask <= torch.finfo(mask.dtype).min / 2)).all())
    if shareable:
        _plain_masks[mask] = mask._version, plain
    return plain
