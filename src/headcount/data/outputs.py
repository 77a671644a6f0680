"""What is kept of a model's result, for each kind of task: small arrays with a row for each example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from headcount.data.encode import IGNORED

LANGUAGE = ("masked-lm", "causal-lm", "translation")
DTYPES = {"logits": "float32", "predictions": "int32", "loss": "float64", "tokens": "float64", "texts": "string"}


NOT_FINITE = -2
"""Stands for a tag whose logits are not finite: the largest of them means nothing."""


def reduce_result(kind: str, result: Any, labels: Tensor, width: int) -> dict[str, Tensor]:
    """Tensors [row, ...] from a result for `labels` (of as many rows); tags are padded to `width` with -1."""
    logits = result.logits if "logits" in result else result.prediction_logits
    if kind in LANGUAGE:
        return _losses(logits, labels, shifted=kind == "causal-lm")
    if kind == "token-classification":
        found = logits.argmax(-1).masked_fill(~logits.isfinite().all(-1), NOT_FINITE)
        return {"predictions": _tags(found, labels, width)}
    return {"logits": logits.float()}


def _losses(logits: Tensor, labels: Tensor, shifted: bool) -> dict[str, Tensor]:
    """The summed loss of each row's labels and their number."""
    if shifted:
        logits, labels = logits[:, :-1], labels[:, 1:]
    lost = functional.cross_entropy(
        logits.flatten(0, 1).float(), labels.flatten(), reduction="none", ignore_index=IGNORED
    ).view(labels.shape)
    return {"loss": lost.double().sum(1), "tokens": (labels != IGNORED).sum(1).double()}


def _tags(found: Tensor, labels: Tensor, width: int) -> Tensor:
    """The tags at labelled places, moved to the front of each row."""
    scored = labels != IGNORED
    order = torch.argsort((~scored).to(torch.int8), dim=1, stable=True)
    front = found.masked_fill(~scored, -1).gather(1, order)[:, :width]
    return functional.pad(front, (0, width - front.shape[1]), value=-1).to(torch.int32)


def first_not_finite(arrays: Mapping[str, np.ndarray], axes: int = 1) -> tuple[int, ...] | None:
    """The place, along the first axes, of the first entry that comes of numbers that are not finite."""
    for name, values in arrays.items():
        if name != "texts":
            bad = values == NOT_FINITE if name == "predictions" else ~np.isfinite(values)
            if bad.any():
                return tuple(int(place) for place in np.argwhere(bad)[0][:axes])
    return None


def trim_tags(predictions: np.ndarray) -> list[list[int]]:
    """Lists of tags without the padding."""
    return [[int(tag) for tag in row if tag >= 0] for row in predictions]
