"""The kernel that sums over a vocabulary in half precision, against float64."""

from __future__ import annotations

import pytest
import torch

from headcount.data.kinds.log_sum_exp import log_sum_exp
from tests.gpu.device import GPU

pytestmark = GPU


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("words", [1, 7, 4096, 50_257])
def test_as_float64(dtype: torch.dtype, words: int) -> None:
    logits = torch.randn(33, words, device="cuda").mul(10).to(dtype)
    expected = torch.logsumexp(logits.double(), -1)
    torch.testing.assert_close(log_sum_exp(logits).double(), expected, atol=1e-4, rtol=1e-5)


def test_not_finite() -> None:
    logits = torch.zeros(3, 5000, device="cuda", dtype=torch.bfloat16)
    logits[0, 4999] = float("nan")
    logits[1, :4998] = float("-inf")
    sums = log_sum_exp(logits)
    assert sums[0].isnan()
    assert float(sums[1]) == pytest.approx(0.6931, abs=1e-3)
