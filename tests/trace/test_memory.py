"""A lack of memory is told from other errors, on a CPU too, and what a failed attempt held is free afterwards."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from headcount.trace.memory import try_in_memory


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory: you tried ..."),
        MemoryError(),
    ],
)
def test_a_lack_of_memory(error: Exception) -> None:
    held: list[weakref.ref[torch.Tensor]] = []

    def run() -> int:
        large = torch.zeros(9)
        held.append(weakref.ref(large))
        raise error

    assert try_in_memory(run) is None
    error.__traceback__ = None
    gc.collect()
    assert held[0]() is None
    assert try_in_memory(lambda: 3) == 3


def test_a_real_allocation_that_no_machine_has() -> None:
    assert try_in_memory(lambda: torch.empty(2**60, dtype=torch.uint8)) is None


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), ValueError("no"), KeyboardInterrupt()])
def test_other_errors_pass(error: BaseException) -> None:
    def run() -> None:
        raise error

    with pytest.raises(type(error)):
        try_in_memory(run)
