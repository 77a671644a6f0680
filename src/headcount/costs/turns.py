"""Whose turn is it, and is it done? Models are timed in turns, and a GPU is waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from transformers import PreTrainedModel

WARM_UP = 2
KEPT = 31 * 2**20
"""Bytes; glibc learns from blocks of up to 32 MiB."""


def in_turns(names: Iterable[str], repeats: int) -> Iterator[tuple[str, bool]]:
    """The names, turn by turn, and whether the turn counts: the first ones warm up.

    There and back again: neither of two is always the one that finds the caches cold.

    >>> [name for name, timed in in_turns("ab", 2) if timed]
    ['b', 'a', 'a', 'b']
    """
    names = list(names)
    keep_freed_memory()
    for turn in range(WARM_UP + repeats):
        for name in names[:: 1 if turn % 2 else -1]:
            yield name, turn >= WARM_UP


def keep_freed_memory() -> None:
    """Free a large block once, after which glibc keeps blocks of that size for the next ones.

    Before it does, every large tensor is new memory, which the system has to fill with zeros: 10 % of a pass of a small
    model, which depends on what the process did earlier and not on the model.
    """
    torch.empty(KEPT, dtype=torch.uint8)


def wait(model: PreTrainedModel) -> None:
    """Wait until the model's device has nothing left to do."""
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)
