"""Memory: how much is free, and running out of it, freeing what the failed attempt held so that less can be tried."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
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


def free_memory() -> int | None:
    """Bytes that programs can still have; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
