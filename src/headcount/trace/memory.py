"""What to do where memory does not suffice: let go of what the failed attempt held, and try with less."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

R = TypeVar("R")
CPU_WORDS = ("can't allocate memory", "not enough memory")
"""PyTorch has no class of its own for a CPU that has no memory."""


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in CPU_WORDS)


def try_in_memory(run: Callable[[], R]) -> R | None:
    """What `run` gives, or None where the device has no memory for it."""
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    # Outside of the handler: while an error is being handled, it holds what the failed pass had on the device.
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return None


def spell_bytes(count: float) -> str:
    """
    >>> spell_bytes(2.5 * 2**30), spell_bytes(300)
    ('2.5 GB', '1 MB')
    """
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{max(1, round(count / 2**20))} MB"
