"""Models that read the first position alone: their last layer is needed only there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor
from transformers import PreTrainedModel

from headcount.models.anatomy import Anatomy
from headcount.models.task_heads import is_classifier, is_multiple_choice


def first_position_forward(model: PreTrainedModel, anatomy: Anatomy) -> Callable[..., Tensor] | None:
    """A replacement for the last layer's `forward` that returns [B, 1, width]; None where the result would differ."""
    forward = anatomy.family.first_position
    kernel = model.config._attn_implementation
    if forward is None or not (is_classifier(model) or is_multiple_choice(model)) or kernel not in ("sdpa", "eager"):
        return None
    return partial(forward, anatomy.stacks["encoder"][-1].layer_module) if "encoder" in anatomy.stacks else None
