"""Half precision is computed in float32, and float64 is never narrowed: by the helper, and by what stands on it."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.trace.precision import wide, widened
from tests.contracts.zoo import BY_NAME, exact, inputs


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_dtypes(dtype: torch.dtype, expected: torch.dtype) -> None:
    assert wide(dtype) == widened(torch.ones(2, dtype=dtype)).dtype == expected


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_float64_model_has_uniform_maps_of_float64(name: str) -> None:
    """A third is not a third in float32."""
    case, model = BY_NAME[name], exact(name)
    with hc.ablated(model, "L1H2", how="uniform"):
        row = hc.observe(model, inputs(case)).maps[case.stacks[0]][1, 2, 0, 2]
    assert row.dtype == torch.float64
    assert float(row[0]) == pytest.approx(1 / 3 if case.kind == "decoder" else 1 / 9, rel=1e-14)
