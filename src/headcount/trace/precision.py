"""In which dtype is a sum or a softmax computed? In float32 for half precision, in the model's own dtype otherwise."""

from __future__ import annotations

import torch
from torch import Tensor


def wide(dtype: torch.dtype) -> torch.dtype:
    """float32, or float64 for a float64 model: what is computed beside a model is as exact as the model."""
    return torch.promote_types(dtype, torch.float32)


def widened(tensor: Tensor) -> Tensor:
    return tensor.to(wide(tensor.dtype))
