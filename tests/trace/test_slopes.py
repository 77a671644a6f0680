"""Is the gradient of a gate that is never multiplied that of a gate of 1, and is the pass the plain one?"""

from __future__ import annotations

import pytest
import torch

from headcount.trace.gates import Gate
from headcount.trace.slopes import GateOfOne
from tests.closeness import assert_same


@pytest.mark.parametrize("size", [1, 3])
def test_equal_to_a_gate_of_one(size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(2, 5, 4, size, dtype=torch.float64, generator=generator, requires_grad=True)
    weights = torch.randn(2, 5, 4, size, dtype=torch.float64, generator=generator)
    found = []
    for gate in (Gate, GateOfOne):
        gates = torch.ones(2, 4, dtype=torch.float64, requires_grad=True)
        changed = gate(gates)(outputs, None)
        assert torch.equal(changed, outputs)
        found.append(torch.autograd.grad((changed.sin() * weights).sum(), [outputs, gates]))
    for one, other in zip(*found, strict=True):
        assert_same(one, other)


def test_sums_of_half_precision_are_wide() -> None:
    """4,000 products of 1 are 4,000; a sum in bfloat16 would stop at 256."""
    gates = torch.ones(1, 1, requires_grad=True)
    outputs = torch.ones(1, 4000, 1, 1, dtype=torch.bfloat16)
    (slope,) = torch.autograd.grad(GateOfOne(gates)(outputs, None).sum(), [gates])
    assert slope.dtype == torch.float32
    assert float(slope) == 4000
