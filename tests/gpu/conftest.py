"""The device's memory is handed back between tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch

from tests.gpu.device import ON_GPU


@pytest.fixture(autouse=True)
def free_memory() -> Iterator[None]:
    yield
    if ON_GPU and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()
