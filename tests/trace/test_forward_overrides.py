"""Overrides answer in their own thread alone, in any order of leaving, and nothing of them stays."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import nn

from headcount.trace.forward_overrides import original_forward, overriding_forwards
from tests.contracts.test_concurrency import together


def double(forward: Any, args: Any, kwargs: Any) -> Any:
    return 2 * forward(*args, **kwargs)


def test_only_the_thread_that_asked_is_answered() -> None:
    module, one = nn.Linear(1, 1), torch.ones(1, 1)
    plain = module(one)
    with overriding_forwards({module: double}):
        assert torch.equal(module(one), 2 * plain)
        assert torch.equal(together(lambda: module(one))[0], plain)
        assert torch.equal(original_forward(module)(one), plain)
    assert torch.equal(module(one), plain)
    assert "forward" not in vars(module)


def test_contexts_may_end_in_any_order() -> None:
    module, one = nn.Linear(1, 1), torch.ones(1, 1)
    plain = module(one)
    barrier = threading.Barrier(2)

    def leave_first() -> None:
        with overriding_forwards({module: double}):
            barrier.wait(20)
        barrier.wait(20)

    def leave_last() -> torch.Tensor:
        with overriding_forwards({module: double}):
            barrier.wait(20)
            barrier.wait(20)
            return module(one)

    assert torch.equal(together(leave_first, leave_last)[1], 2 * plain)
    assert torch.equal(module(one), plain)


def test_a_forward_of_the_modules_own_comes_back() -> None:
    module, one = nn.Linear(1, 1), torch.ones(1, 1)
    module.forward = mine = lambda inputs: inputs + 1  # type: ignore[method-assign, assignment]
    with overriding_forwards({module: double}):
        assert torch.equal(module(one), 2 * (one + 1))
    assert vars(module)["forward"] is mine
