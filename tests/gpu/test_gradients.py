"""Gradients of gates and importance on the device equal those of a CPU in float64."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from tests import planted
from tests.contracts.zoo import BY_NAME, HEADS, LAYERS, inputs, tiny
from tests.gpu.device import DEVICE, GPU, largest_share, on_device, to_device
from tests.pruning import jobs

pytestmark = GPU

TOLERANCE = 1e-3
"""Of the largest gradient: a backward pass in float32 after three layers of large weights."""
KINDS = ("classification", "masked", "gpt2", "t5")


def gate_gradients(model: Any, name: str, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """[stack, layer, head]: the gradients of a sum over the last position."""
    case = BY_NAME[name]
    gates = {
        stack: torch.ones(LAYERS, HEADS, device=model.device, dtype=model.dtype, requires_grad=True)
        for stack in case.stacks
    }
    with hc.gated(model, gates):
        hidden = model(**batch).last_hidden_state[0, -1]
    (hidden * torch.linspace(-1, 1, len(hidden), device=model.device, dtype=model.dtype)).sum().backward()
    return torch.stack([gates[stack].grad for stack in case.stacks])  # type: ignore[misc]


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "bart", "mpnet"])
def test_gradients_of_gates(name: str) -> None:
    case = BY_NAME[name]
    kernel, batch = case.kernels[0], inputs(case, "left" if case.kind == "decoder" else "right")
    expected = gate_gradients(tiny(name, kernel).double(), name, batch)
    found = gate_gradients(on_device(name, kernel), name, to_device(batch))
    assert largest_share(found, expected) <= TOLERANCE
    assert float(expected.abs().max()) > 1e-2, "the gates made no difference"


@pytest.mark.parametrize("kind", KINDS)
def test_importance(kind: str, tmp_path: Path) -> None:
    """Every example's value for every head, in float32; the order of the heads in bfloat16."""
    model, data, task = jobs.make(kind)
    tokenizer = planted.tokenizer(tmp_path)
    expected = hc.importance(copy.deepcopy(model).double(), tokenizer, data, task=task)
    found = hc.importance(copy.deepcopy(model).to(DEVICE), tokenizer, data, task=task)
    for name in ("michel", "taylor", "norm"):
        exact = expected[f"values_{name}"].values
        largest = np.nanmax(np.abs(exact))
        assert np.nanmax(np.abs(found[f"values_{name}"].values - exact)) <= TOLERANCE * largest
    rounded = hc.importance(model.to(DEVICE, torch.bfloat16), tokenizer, data, task=task)
    exact, rough = (np.nan_to_num(one["michel"].values.ravel()) for one in (expected, rounded))
    assert np.corrcoef(exact, rough)[0, 1] > 0.98
