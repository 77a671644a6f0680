"""The loss of each example of a batch, from a model's result: differentiable, and the same in any batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from headcount.data.encode import IGNORED
from headcount.data.outputs import LANGUAGE


def example_losses(kind: str, result: Any, labels: Tensor) -> Tensor:
    """[example]: cross entropy, squared error, or the mean over the labelled tokens of the example."""
    logits = result.logits if "logits" in result else result.prediction_logits
    if kind == "regression":
        scores = _widened(logits).squeeze(-1)
        apart: Tensor = scores - labels.to(scores.dtype)
        return apart**2
    if kind in (*LANGUAGE, "token-classification"):
        if kind == "causal-lm":
            logits, labels = logits[:, :-1], labels[:, 1:]
        lost = functional.cross_entropy(
            _widened(logits).flatten(0, 1), labels.flatten(), reduction="none", ignore_index=IGNORED
        ).view(labels.shape)
        return lost.sum(1) / (labels != IGNORED).sum(1).clamp(min=1)
    return functional.cross_entropy(_widened(logits), labels, reduction="none")


def _widened(logits: Tensor) -> Tensor:
    """Half precision in float32; float64 stays."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
