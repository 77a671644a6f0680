"""Labels drawn from what a model itself predicts, for scores that need a loss but no label of the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.outputs import upcast
from headcount.data.kinds.tokens import IGNORED


def draw_classes(logits: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
    """[example]: a class of each example, drawn with its probability under logits [example, class]."""
    return _at(logits, np.array([generator.random() for generator in draws]))


def draw_tags(logits: Tensor, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
    """[example, token]: classes of the labelled tokens, drawn from logits [example, token, class]."""
    drawn, scored = labels.clone(), labels != IGNORED
    # A number for each labelled token of an example, however far the batch is padded.
    numbers = [generator.random(int(count)) for generator, count in zip(draws, scored.sum(1).tolist(), strict=True)]
    drawn[scored] = _at(logits[scored], np.concatenate(numbers))
    return drawn


def _at(logits: Tensor, numbers: np.ndarray) -> Tensor:
    """The classes [row] whose part of the interval from 0 to 1 has these numbers."""
    ends = upcast(logits.detach()).softmax(-1).cumsum(-1)
    places = torch.as_tensor(numbers).to(ends)[:, None]
    return (places >= ends).sum(-1).clamp(max=logits.shape[-1] - 1)
