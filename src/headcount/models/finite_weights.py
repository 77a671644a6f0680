"""Are a model's weights numbers? A single NaN or infinity makes every result worthless, and may not show in a score."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import NotFinite
from headcount.models.fingerprint import model_name


def check_weights(model: PreTrainedModel) -> None:
    """An error where a weight is NaN or infinite, with its name: one pass over the weights, in place.

    Buffers may be infinite, as masks are, but not NaN.
    """
    bad = [name for name, tensor in model.named_parameters() if not _is_sound(tensor)]
    kept = set(model.state_dict(keep_vars=True)) if any(True for _ in model.buffers()) else set()
    bad += [name for name, tensor in model.named_buffers() if name in kept and not _is_sound(tensor, infinite=True)]
    if not bad:
        return
    tensor = model.state_dict(keep_vars=True)[bad[0]].detach()
    count = int((~tensor.isfinite()).sum())
    more = f" (and of {len(bad) - 1} more tensors)" if len(bad) > 1 else ""
    remedy = (
        "restore the checkpoint, or give dtype=float32 if float16 is too small for its weights"
        if tensor.dtype == torch.float16
        else "restore the checkpoint"
    )
    raise NotFinite(
        f"{count:,} of {tensor.numel():,} values of {bad[0]}{more} are NaN or infinite in {model_name(model)}; {remedy}"
    )


def _is_sound(tensor: Tensor, infinite: bool = False) -> bool:
    """Whether all values are finite; with `infinite`, whether none is NaN."""
    if not tensor.is_floating_point() or tensor.is_meta or not tensor.numel():
        return True
    tensor = tensor.detach()
    # Smallest and largest value come from one pass without a copy, and NaN is both of them where there is one.
    extremes = torch.stack(torch.aminmax(tensor if tensor.element_size() > 1 else tensor.float()))
    return not bool(extremes.isnan().any()) if infinite else bool(extremes.isfinite().all())
