"""Refuse weights that are NaN or infinite: a single one makes every result worthless and may not show in a score."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import NotFinite
from headcount.models.dispatched import stored_tensors
from headcount.models.fingerprint import model_name


def check_weights(model: PreTrainedModel) -> None:
    """An error that names the first weight that is NaN or infinite; buffers, such as masks, may be infinite."""
    buffers = {name for name, _ in model.named_buffers()}
    parameters = {name for name, _ in model.named_parameters()}  # of tied weights, only the first name
    bad = [
        (name, tensor)
        for name, tensor in stored_tensors(model, parameters | buffers)
        if not _is_finite(tensor, infinite=name in buffers)
    ]
    if not bad:
        return
    name, tensor = min(bad, key=lambda one: one[0] in buffers)  # parameters first
    count = int((~tensor.isfinite()).sum())
    more = f" (and of {len(bad) - 1} more tensors)" if len(bad) > 1 else ""
    remedy = (
        "restore the checkpoint, or give dtype=float32 if float16 is too small for its weights"
        if tensor.dtype == torch.float16
        else "restore the checkpoint"
    )
    raise NotFinite(
        f"{count:,} of {tensor.numel():,} values of {name}{more} are NaN or infinite in {model_name(model)}; {remedy}"
    )


def _is_finite(tensor: Tensor, infinite: bool = False) -> bool:
    """Whether all values are finite; with `infinite`, whether none is NaN."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    tensor = tensor.detach()
    # Both extremes come from one pass without a copy, and are NaN where a value is.
    extremes = torch.stack(torch.aminmax(tensor if tensor.element_size() > 1 else tensor.float()))
    return not bool(extremes.isnan().any()) if infinite else bool(extremes.isfinite().all())
