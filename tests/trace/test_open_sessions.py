"""Which sessions hold where: threads start without any, tasks with those that were open where they were created."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.errors import InvalidOption, NotReached
from headcount.trace.session import check_untouched, session
from tests.contracts.test_concurrency import together
from tests.contracts.zoo import BY_NAME, inputs, run, tiny


def test_a_task_that_outlives_the_context_it_was_created_in() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    plain = run(model, batch)

    async def later(event: asyncio.Event) -> Tensor:
        await event.wait()
        return run(model, batch)

    async def work() -> Tensor:
        event = asyncio.Event()
        with hc.ablated(model, "L1"):
            task = asyncio.create_task(later(event))
            await asyncio.sleep(0)
        with hc.ablated(model, "L2"):
            event.set()
            assert not torch.equal(run(model, batch), plain)
            return await task

    assert torch.equal(asyncio.run(work()), plain)


def test_passes_of_a_worker_thread_are_named_at_the_end() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    plain = run(model, batch)
    with pytest.raises(NotReached, match="belongs to the thread or task that opened it"), hc.ablated(model, "L1H2"):
        (found,) = together(lambda: run(model, batch))
    assert torch.equal(found, plain)
    with hc.ablated(model, "L1H2"):  # passes of one's own are enough
        together(lambda: run(model, batch))
        assert not torch.equal(run(model, batch), plain)


def test_a_study_beside_the_context_of_another_thread() -> None:
    model = tiny("bert")
    with hc.ablated(model, "L1H2"):
        together(lambda: check_untouched(model))
        with pytest.raises(InvalidOption, match="inside ablated"):
            check_untouched(model)


def test_what_an_observer_keeps_is_let_go_with_it() -> None:
    """Not only when Python looks for cycles: until then, a GPU would hold the tensors of many batches."""
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])

    def watch() -> weakref.ref[Tensor]:
        kept: list[Tensor] = []
        with session(model, observers={("encoder", 0): lambda run: kept.append(run.outputs)}, purpose="a test"):
            run(model, batch)
        return weakref.ref(kept[0])

    gc.collect()
    gc.disable()
    try:
        assert watch()() is None
    finally:
        gc.enable()
