"""What is kept of a model's result: small arrays with a row for each example, from which every score is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headcount.data.kinds.tokens import IGNORED

DTYPES = {"logits": "float32", "predictions": "int32", "loss": "float64", "tokens": "float64", "texts": "string"}
"""The arrays that a kind may keep: `logits` [example, class], `predictions` [example, word] padded with -1, the summed
`loss` of an example and the number of its `tokens`, and the `texts` that were generated."""
NOT_FINITE = -2
"""Stands for a tag whose logits are not finite: the largest of them means nothing."""


def logits_of(result: Any) -> Tensor:
    """The logits of a model's result; a model with two heads calls those of the language model prediction_logits."""
    logits: Tensor = result.logits if "logits" in result else result.prediction_logits
    return logits


def widened(logits: Tensor) -> Tensor:
    """Half precision in float32; float64 stays."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """[row, token]: the cross entropy at each labelled token, 0 at all others."""
    return functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), reduction="none", ignore_index=IGNORED
    ).view(labels.shape)


def mean_token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """[row]: the mean over the labelled tokens of each row, differentiable."""
    return token_losses(widened(logits), labels).sum(1) / (labels != IGNORED).sum(1).clamp(min=1)


def locate_not_finite(arrays: Mapping[str, np.ndarray], axes: int = 1) -> tuple[int, ...] | None:
    """The index, along the first axes, of the first entry that comes from numbers that are not finite."""
    for name, values in arrays.items():
        if name != "texts":
            bad = values == NOT_FINITE if name == "predictions" else ~np.isfinite(values)
            if bad.any():
                return tuple(int(index) for index in np.argwhere(bad)[0][:axes])
    return None
