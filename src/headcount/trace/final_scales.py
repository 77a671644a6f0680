"""What the final norm divides each state by in a pass: the scale at which heads act on logits."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.models.unembedding import FinalNorm
from headcount.trace.hooks import hooked


@torch.no_grad()
def final_scales(model: PreTrainedModel, norm: FinalNorm, batch: Mapping[str, Any]) -> Tensor:
    """[B, Q], from a plain pass of the batch, in which the logits of the last token alone are computed if possible."""
    scales: list[Tensor] = []
    thread = threading.get_ident()

    def keep(_: nn.Module, args: tuple[Any, ...]) -> None:
        if threading.get_ident() == thread:  # other threads may run the model, too
            scales.append(norm.scale(args[0]))

    taken = inspect.signature(model.forward).parameters
    options = {name: value for name, value in (("logits_to_keep", 1), ("use_cache", False)) if name in taken}
    with hooked([norm.module], before=keep):
        model(**batch, **options)
    return scales[-1]
