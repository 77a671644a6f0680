"""The hard concrete distribution: a random number in [0, 1] that is often exactly 0 or 1, with one parameter, log a."""

from __future__ import annotations

import math

import torch
from torch import Tensor

BETA, LOW, HIGH = 0.33, -0.1, 1.1
"""Temperature and limits of the stretched distribution, as in Voita et al. 2019."""


def sample_gate(log_a: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """A gate for each head, differentiable in log a."""
    noise = torch.rand(log_a.shape, generator=generator, dtype=log_a.dtype).to(log_a.device).clamp(1e-6, 1 - 1e-6)
    soft = torch.sigmoid((noise.log() - (1 - noise).log() + log_a) / BETA)
    return (soft * (HIGH - LOW) + LOW).clamp(0, 1)


def steady_gate(log_a: Tensor) -> Tensor:
    """The gate without noise, as it is used after training."""
    return (torch.sigmoid(log_a) * (HIGH - LOW) + LOW).clamp(0, 1)


def open_probability(log_a: Tensor) -> Tensor:
    """How likely the gate is not zero.

    >>> round(float(open_probability(torch.tensor(0.0))), 3)
    0.688
    """
    return torch.sigmoid(log_a - BETA * math.log(-LOW / HIGH))
