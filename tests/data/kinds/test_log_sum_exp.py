"""log(sum(exp(...))) as torch has it, in float32 or better."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.kinds.log_sum_exp import log_sum_exp


@given(st.integers(0, 5), st.integers(1, 60), st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_as_torch(rows: int, words: int, dtype: torch.dtype) -> None:
    logits = torch.randn(rows, words, generator=torch.Generator().manual_seed(words)).mul(20).to(dtype)
    sums = log_sum_exp(logits)
    assert sums.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(sums.double(), torch.logsumexp(logits.double(), -1), atol=1e-5, rtol=1e-5)


def test_what_is_not_finite_stays_so() -> None:
    logits = torch.tensor([[0.0, float("nan")], [0.0, float("-inf")]])
    assert log_sum_exp(logits)[0].isnan()
    assert log_sum_exp(logits)[1] == pytest.approx(0)
