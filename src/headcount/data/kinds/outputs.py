"""The small arrays that are kept of a model's results, with a row for each example, and the losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headcount.data.kinds.log_sum_exp import log_sum_exp
from headcount.data.kinds.tokens import IGNORED

DTYPES = {
    "logits": "float32",
    "document_scores": "float32",
    "predictions": "int32",
    "loss": "float64",
    "tokens": "float64",
    "correct_tokens": "float64",
    "logit_difference": "float64",
    "texts": "string",
}
"""The arrays that a kind may keep: `logits` [example, class], `document_scores` [query, document],
`predictions` [example, word] padded with -1, the summed
`loss`, the number of `tokens` and of `correct_tokens` of each example, the difference of the logits of its right and
its wrong answer, and generated `texts`."""
NOT_FINITE = -2
"""The tag of a word whose logits are not finite."""


def logits_of(result: Any) -> Tensor:
    """The logits of a model's result; in models with two heads, `prediction_logits` are the language model's."""
    logits: Tensor = result.logits if "logits" in result else result.prediction_logits
    return logits


def upcast(logits: Tensor) -> Tensor:
    """Half precision as float32; float64 stays."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def class_losses(result: Any, labels: Tensor) -> Tensor:
    """[example]: the cross entropy of each example, differentiable."""
    return functional.cross_entropy(upcast(logits_of(result)), labels, reduction="none")


def class_differences(logits: Tensor, labels: Tensor, wrong: Tensor) -> Tensor:
    """[row]: the logit of the right class minus that of the wrong one, from logits [row, class]; differentiable."""
    right, other = (logits.gather(1, numbers[:, None])[:, 0] for numbers in (labels, wrong))
    return upcast(right) - upcast(other)


def class_distances(logits: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """[row]: T^2 KL(teacher || student) of the probabilities at temperature T, from logits [row, class].

    The factor T^2 keeps the gradients' size where the temperature is changed (Hinton et al. 2015).
    """
    ours, theirs = ((upcast(each) / temperature).log_softmax(-1) for each in (logits, teacher))
    return temperature**2 * functional.kl_div(ours, theirs, reduction="none", log_target=True).sum(-1)


def mean_token_distances(logits: Tensor, teacher: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """[row]: the mean of `class_distances` over the labelled tokens of each row, from logits [row, token, class]."""
    labelled = labels != IGNORED
    distances = class_distances(logits[labelled], teacher[labelled], temperature)
    zeros = torch.zeros(labels.shape, dtype=distances.dtype, device=distances.device)
    return zeros.masked_scatter(labelled, distances).sum(1) / labelled.sum(1).clamp(min=1)


def token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """[row, token]: the cross entropy at each labelled token, 0 at all others."""
    return functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), reduction="none", ignore_index=IGNORED
    ).view(labels.shape)


def token_entropies(logits: Tensor, labels: Tensor) -> Tensor:
    """[token]: the cross entropy of labelled tokens, from logits [token, word] of any precision.

    The sum over the vocabulary is in float32 or better; on a GPU without a copy of the logits in it.
    """
    picked = upcast(logits.gather(1, labels[:, None])[:, 0])
    return log_sum_exp(logits) - picked


def mean_token_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """[row]: the mean over the labelled tokens of each row, differentiable."""
    return token_losses(upcast(logits), labels).sum(1) / (labels != IGNORED).sum(1).clamp(min=1)


def locate_not_finite(arrays: Mapping[str, np.ndarray], axes: int = 1) -> tuple[int, ...] | None:
    """The index, along the first axes, of the first entry that was computed from values that are not finite."""
    for name, values in arrays.items():
        if name != "texts":
            bad = values == NOT_FINITE if name == "predictions" else ~np.isfinite(values)
            if bad.any():
                return tuple(int(index) for index in np.argwhere(bad)[0][:axes])
    return None
