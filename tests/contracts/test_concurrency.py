"""An intervention belongs to the thread or task that opened it: the passes of all others are untouched, bit for bit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import headcount as hc
from headcount.ablation.replacements import REPLACEMENTS
from headcount.models.anatomy import read_anatomy
from headcount.trace.replay import Replay
from headcount.trace.session import session
from headcount.trace.variants import Variant
from tests.contracts.zoo import BY_NAME, CASES, HEADS, LAYERS, Case, inputs, run, tiny

FAMILY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
Open = Callable[[], AbstractContextManager[Any]]
PATIENCE = 20


def padded(case: Case) -> dict[str, Tensor]:
    return inputs(case, "none" if case.kind == "vision" else "right")


def contexts(case: Case, model: Any, batch: dict[str, Tensor]) -> dict[str, tuple[Open, Open]]:
    """Two contexts of each kind that change different heads."""
    means = hc.mean_outputs(model, batch)
    found: dict[str, tuple[Open, Open]] = {}
    for how in REPLACEMENTS:
        reference = means if how == "mean" else None
        found[how] = (
            lambda how=how, reference=reference: hc.ablated(model, case.spell("L1H2"), how, reference),
            lambda how=how, reference=reference: hc.ablated(model, case.spell("L0H0-1"), how, reference),
        )
    generator = torch.Generator().manual_seed(3)
    gates = [{stack: torch.rand(LAYERS, HEADS, generator=generator) for stack in case.stacks} for _ in range(2)]
    first, second = [one if case.kind == "pair" else one[case.stacks[0]] for one in gates]
    found["gates"] = (lambda: hc.gated(model, first), lambda: hc.gated(model, second))
    return found


@contextmanager
def in_step(model: Any, threads: int) -> Iterator[threading.Barrier]:
    """Passes of so many threads go from layer to layer together."""
    barrier = threading.Barrier(threads)

    def wait(*_: Any) -> None:
        barrier.wait(PATIENCE)

    handles = [
        module.register_forward_pre_hook(wait)
        for block in read_anatomy(model)
        for module in {block.layer_module, block.output}
    ]
    try:
        yield barrier
    finally:
        for handle in handles:
            handle.remove()


def together(*work: Callable[[], Any]) -> list[Any]:
    """What each of the functions gives, each in a thread of its own; the first error of any."""
    with ThreadPoolExecutor(len(work)) as pool:
        futures = [pool.submit(one) for one in work]
        return [one.result(PATIENCE) for one in futures]


@FAMILY
@pytest.mark.parametrize("kind", [*REPLACEMENTS, "gates"])
def test_three_threads_in_step(case: Case, kind: str) -> None:
    """Two that change different heads and one that changes nothing; the first leaves its context before the others."""
    model, batch = tiny(case.name, case.kernels[0]), padded(case)
    plain = run(model, batch)
    opens = contexts(case, model, batch)[kind]
    alone = []
    for one in opens:
        with one():
            alone.append(run(model, batch))
    assert len({float(one.double().sum()) for one in [plain, *alone]}) == 3, "the heads made no difference"

    with in_step(model, 3) as barrier:

        def leave_early() -> list[Tensor]:
            with opens[0]():
                barrier.wait(PATIENCE)
                found = [run(model, batch)]
            barrier.wait(PATIENCE)
            return [*found, run(model, batch)]

        def stay(open_: Open) -> list[Tensor]:
            with open_():
                barrier.wait(PATIENCE)
                found = [run(model, batch)]
                barrier.wait(PATIENCE)
                return [*found, run(model, batch)]

        first, second, third = together(leave_early, lambda: stay(opens[1]), lambda: stay(nullcontext))
    for found, expected in zip(
        (*first, *second, *third), (alone[0], plain, alone[1], alone[1], plain, plain), strict=True
    ):
        assert torch.equal(found, expected)
    assert torch.equal(run(model, batch), plain)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@FAMILY
def test_observation_beside_an_ablation(case: Case) -> None:
    model, batch = tiny(case.name, case.kernels[0]), padded(case)
    plain = run(model, batch)
    seen = hc.observe(model, batch)
    with hc.ablated(model, case.spell("L1H2"), how="uniform"):
        ablated = run(model, batch)
        inside = hc.observe(model, batch)

    def observing(open_: Open) -> Any:
        with open_():
            barrier.wait(PATIENCE)
            found = hc.observe(model, batch)
            barrier.wait(PATIENCE)
            return found

    def running(open_: Open) -> Any:
        with open_():
            barrier.wait(PATIENCE)
            found = run(model, batch)
            barrier.wait(PATIENCE)
            return found

    def uniform() -> AbstractContextManager[Any]:
        return hc.ablated(model, case.spell("L1H2"), how="uniform")

    with in_step(model, 4) as barrier:
        first, second, third, fourth = together(
            lambda: observing(nullcontext),
            lambda: observing(uniform),
            lambda: running(uniform),
            lambda: running(nullcontext),
        )
    assert torch.equal(third, ablated)
    assert torch.equal(fourth, plain)
    for found, expected in ((first, seen), (second, inside)):
        for stack in case.stacks:
            assert torch.equal(found.maps[stack], expected.maps[stack])
            assert torch.equal(found.outputs[stack], expected.outputs[stack])
    assert not torch.equal(first.maps[case.stacks[0]], second.maps[case.stacks[0]])


@FAMILY
@pytest.mark.parametrize("kind", [*REPLACEMENTS, "gates"])
def test_two_tasks_take_turns(case: Case, kind: str) -> None:
    model, batch = tiny(case.name, case.kernels[0]), padded(case)
    plain = run(model, batch)
    opens = contexts(case, model, batch)[kind]
    alone = []
    for one in opens:
        with one():
            alone.append(run(model, batch))

    async def work(open_: Open, expected: Tensor) -> None:
        assert torch.equal(run(model, batch), plain)
        with open_():
            for _ in range(3):
                await asyncio.sleep(0)
                assert torch.equal(run(model, batch), expected)
            # A task or thread that is given this one's context has its interventions too.
            assert torch.equal(await asyncio.create_task(once()), expected)
            assert torch.equal(await asyncio.to_thread(run, model, batch), expected)
        await asyncio.sleep(0)
        assert torch.equal(run(model, batch), plain)

    async def once() -> Tensor:
        await asyncio.sleep(0)
        return run(model, batch)

    async def both() -> None:
        await asyncio.gather(work(opens[0], alone[0]), work(nullcontext, plain), work(opens[1], alone[1]))

    asyncio.run(both())
    assert torch.equal(run(model, batch), plain)


@pytest.mark.parametrize("name", ["bert", "albert", "bart"])
def test_two_replays_in_step(name: str) -> None:
    """Replays of sweeps and a plain pass beside them."""
    from headcount.ablation.replacements import make_edit

    case = BY_NAME[name]
    model, batch = tiny(name), inputs(case, "right")
    anatomy = read_anatomy(model)
    plain = run(model, batch)
    stack = case.stacks[0]

    def variants(head: int) -> list[Variant]:
        return [
            {(stack, layer): make_edit("uniform", anatomy.attention(stack, layer), (head,), None)} for layer in (1, 2)
        ]

    def replayed(head: int, wait: Callable[[], Any] = lambda: None) -> np.ndarray:
        with torch.no_grad(), Replay(model, anatomy, first_position=False) as replay:
            replay.record(batch)
            wait()
            found = replay.run(variants(head)).last_hidden_state
            wait()
            return np.asarray(found)

    expected = [replayed(0), replayed(3)]
    barrier = threading.Barrier(3)

    def passing() -> list[Tensor]:
        barrier.wait(PATIENCE)
        found = [run(model, batch) for _ in range(5)]
        barrier.wait(PATIENCE)
        return found

    first, second, third = together(
        lambda: replayed(0, lambda: barrier.wait(PATIENCE)),
        lambda: replayed(3, lambda: barrier.wait(PATIENCE)),
        passing,
    )
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(second, expected[1])
    assert all(torch.equal(one, plain) for one in third)
    assert not any("forward" in vars(module) for module in model.modules())


def test_a_hook_that_comes_in_the_middle_of_a_pass() -> None:
    """ALBERT's uses of its one layer are counted from the start of a pass: a hook of another thread may come later."""
    case = BY_NAME["albert"]
    model, batch = tiny("albert"), inputs(case, "right")
    plain = run(model, batch)
    barrier = threading.Barrier(2)

    def passing() -> Tensor:
        with session(model, {}, purpose="a session without edits"):
            with hc.ablated(model, case.spell("L2H1")):
                run(model, batch)
            handle = read_anatomy(model).stacks["encoder"][0].layer_module.register_forward_pre_hook(wait)
            found = run(model, batch)
        handle.remove()
        return found

    first = threading.Event()

    def wait(*_: Any) -> None:
        if not first.is_set():
            first.set()
            barrier.wait(PATIENCE)
            barrier.wait(PATIENCE)

    def entering() -> None:
        barrier.wait(PATIENCE)
        with hc.ablated(model, case.spell("L0H1")):
            barrier.wait(PATIENCE)
            ended.wait(PATIENCE)
            run(model, batch)

    ended = threading.Event()

    def both() -> Tensor:
        try:
            return passing()
        finally:
            ended.set()

    found, _ = together(both, entering)
    assert torch.equal(found, plain)
