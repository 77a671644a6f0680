"""log(sum(exp(logits))) over the vocabulary in float32, where half precision is read once and never copied."""

from __future__ import annotations

import torch
from torch import Tensor

try:  # it comes with torch for NVIDIA GPUs
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _kernel(logits, sums, stride, words, block: tl.constexpr):  # type: ignore[no-untyped-def]
        row = tl.program_id(0).to(tl.int64)
        largest = tl.full([block], float("-inf"), tl.float32)
        total = tl.zeros([block], tl.float32)
        for start in range(0, words, block):
            column = start + tl.arange(0, block)
            values = tl.load(logits + row * stride + column, column < words, float("-inf")).to(tl.float32)
            above = tl.maximum(largest, values)
            # A lane that has seen nothing but minus infinity has no sum to scale.
            kept = tl.where(above == float("-inf"), 0.0, above)
            total = total * tl.exp(largest - kept) + tl.exp(values - kept)
            largest = above
        most = tl.max(largest, 0)
        shift = tl.where(most == float("-inf"), 0.0, most)
        tl.store(sums + row, shift + tl.log(tl.sum(total * tl.exp(largest - shift), 0)))


def log_sum_exp(logits: Tensor) -> Tensor:
    """[row]: of logits [row, word], in float32 or better.

    >>> log_sum_exp(torch.zeros(2, 4)).exp().round().tolist()
    [4.0, 4.0]
    """
    half = logits.dtype in (torch.bfloat16, torch.float16)
    if triton is None or not logits.is_cuda or not half or logits.requires_grad or logits.stride(-1) != 1:
        return torch.logsumexp(logits.to(torch.promote_types(logits.dtype, torch.float32)), -1)
    sums = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    if len(logits):
        with torch.cuda.device(logits.device):
            _kernel[(len(logits),)](logits, sums, logits.stride(0), logits.shape[1], block=4096)
    return sums
