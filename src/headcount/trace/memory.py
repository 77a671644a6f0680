"""Out of memory: recognise the error and free what the failed attempt held, so that less can be tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

R = TypeVar("R")
CPU_WORDS = ("can't allocate memory", "not enough memory")
"""PyTorch has no exception class for a CPU that runs out of memory."""


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in CPU_WORDS)


def try_in_memory(run: Callable[[], R]) -> R | None:
    """The result of `run`, or None where it runs out of memory."""
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    # Outside of the handler: while an error is being handled, it holds the tensors of the failed pass.
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return None


def spell_bytes(count: float) -> str:
    """
    >>> spell_bytes(2.5 * 2**30), spell_bytes(300)
    ('2.5 GB', '1 MB')
    """
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{max(1, round(count / 2**20))} MB"
