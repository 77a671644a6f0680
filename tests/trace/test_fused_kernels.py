"""The kernels in Triton's interpreter, on a CPU: `TRITON_INTERPRET=1 pytest tests/trace/test_fused_kernels.py`.

Triton comes with torch for NVIDIA GPUs only, and its interpreter knows no bfloat16: `tests/gpu` has the kernels as
compiled.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from headcount.trace import fused_kernels
from tests.trace.fused_cases import SHAPES, compare

pytestmark = pytest.mark.skipif(
    not fused_kernels.INSTALLED or os.environ.get("TRITON_INTERPRET") != "1", reason="needs Triton's interpreter"
)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_that_can_be_asked(shape: tuple[Any, ...]) -> None:
    compare(shape, torch.float16, "cpu")
