"""Models that are really broken, each in a way that one promise must notice."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.contracts.zoo import tiny


def _last_projection(model: Any) -> nn.Linear:
    projection = model.encoder.layer[-1].attention.output.dense
    assert isinstance(projection, nn.Linear)
    return projection


def shifted() -> Any:
    """Its last output projection adds a number to what it reads: there, a head at zero is not a column of zeros."""
    model = tiny("bert")
    dense = _last_projection(model)
    dense.forward = lambda hidden: nn.functional.linear(hidden + 0.5, dense.weight, dense.bias)  # type: ignore[method-assign]
    return model


def drifting() -> Any:
    """It computes something else in every pass."""
    model, passes = tiny("bert"), [0]

    def drift(module: nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        passes[0] += 1
        return output + 0.01 * passes[0]

    _last_projection(model).register_forward_hook(drift)
    return model


def remembering() -> Any:
    """After it has read zeros once, as inside an ablation, it stays changed."""
    model, seen = tiny("bert"), [False]
    dense = _last_projection(model)

    def forward(hidden: torch.Tensor) -> torch.Tensor:
        seen[0] |= bool((hidden == 0).any())
        return nn.functional.linear(hidden, dense.weight, dense.bias) + 0.1 * seen[0]

    dense.forward = forward  # type: ignore[method-assign]
    return model


def overflowing() -> Any:
    """Its outputs are not finite."""
    model = tiny("bert")
    with torch.no_grad():
        _last_projection(model).weight.fill_(3e38)
    return model
