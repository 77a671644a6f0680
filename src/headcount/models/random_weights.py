"""The same model with random weights: the control that says what the architecture alone does."""

from __future__ import annotations

import copy

import torch
from transformers import PreTrainedModel

from headcount.models.dispatched import check_whole
from headcount.models.plain_weights import check_plain

SPREAD = 0.02
"""Standard deviation of the weights, BERT's own."""


def with_random_weights(model: PreTrainedModel, seed: int = 0) -> PreTrainedModel:
    """A copy whose matrices are drawn from N(0, 0.02), biases 0 and scales 1; the model itself is left as it is.

    Drawn anew rather than built from the config, so that a model without some of its heads keeps its shape.
    """
    check_whole(model, "compare it with random weights, or leave the control out")
    check_plain(model, "compare it with random weights, or leave the control out")
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * SPREAD)
            else:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
    return other.eval()
