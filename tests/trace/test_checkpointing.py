"""Gradient checkpointing repeats a pass with its own edits: inside the context, after it, and in another thread."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

import headcount as hc
from headcount.errors import NotReached
from headcount.trace.checkpointing import Repeatable
from tests.checkpointed import switch_off, switch_on
from tests.closeness import FLOAT32, assert_same
from tests.contracts.zoo import BY_NAME, Case, exact, inputs

REENTRANT = pytest.mark.parametrize("reentrant", [False, True], ids=["non-reentrant", "reentrant"])
CHECKPOINTED = [
    BY_NAME[name]
    for name in ("bert", "distilbert", "modernbert", "mpnet", "deberta-v2", "gpt2", "llama", "t5", "bart", "vit")
]


def checkpointing(model: Any, reentrant: bool) -> Any:
    model.train()
    for module in model.modules():
        for name, value in vars(module).items():
            if isinstance(value, float) and ("dropout" in name or name in ("p", "layerdrop")):
                setattr(module, name, 0.0)
    switch_on(model, use_reentrant=reentrant)
    # Reentrant checkpointing needs an input that has a gradient.
    if reentrant:
        model.enable_input_require_grads()
    return model


def loss(model: Any, batch: dict[str, Tensor]) -> Tensor:
    hidden = model(**batch).last_hidden_state
    return (hidden * torch.linspace(-1, 1, hidden.shape[-1])).sum()


def gradients(model: Any) -> dict[str, Tensor]:
    found = {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}
    model.zero_grad()
    return found


def assert_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        # T5's and Llama's norms stay in float32; gradients of a wrong repetition differ by far more.
        assert_same(found[name], one, FLOAT32, name, largest=max(1.0, float(one.abs().max())))


def plain_gradients(case: Case, how: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Without checkpointing: of the ablated model, and of the whole one."""
    model, batch = checkpointing(exact(case.name, case.kernels[0]), False), inputs(case)
    switch_off(model)
    with hc.ablated(model, case.spell("L1H0-2"), how=how):
        loss(model, batch).backward()
    ablated = gradients(model)
    loss(model, batch).backward()
    return ablated, gradients(model)


@REENTRANT
@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("case", CHECKPOINTED, ids=lambda case: case.name)
def test_backward_inside_and_after_the_context(case: Case, how: str, reentrant: bool) -> None:
    model = exact(case.name, case.kernels[0])
    if not model.supports_gradient_checkpointing or (reentrant and case.name in ("vit", "deberta-v2")):
        pytest.skip("the family has no gradient checkpointing of this kind")
    expected, whole = plain_gradients(case, how)
    checkpointing(model, reentrant)
    batch = inputs(case)
    with hc.ablated(model, case.spell("L1H0-2"), how=how):
        loss(model, batch).backward()
        assert_equal(gradients(model), expected)
        after = loss(model, batch)
    with hc.ablated(model, case.spell("L2H1")):  # another intervention is of no concern to it
        loss(model, batch)
        after.backward()
    assert_equal(gradients(model), expected)
    loss(model, batch).backward()
    assert_equal(gradients(model), whole)
    assert not any("Repeatable" in repr(vars(module)) for module in model.modules())


def in_a_thread(work: Callable[[], None]) -> None:
    """As autograd runs the backward pass of a GPU."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


@REENTRANT
@pytest.mark.parametrize("name", ["bert", "t5"])
def test_backward_in_another_thread(name: str, reentrant: bool) -> None:
    case = BY_NAME[name]
    expected, _ = plain_gradients(case, "uniform")
    model, batch = checkpointing(exact(name, case.kernels[0]), reentrant), inputs(case)
    with hc.ablated(model, case.spell("L1H0-2"), how="uniform"):
        result = loss(model, batch)
        in_a_thread(result.backward)
        assert_equal(gradients(model), expected)
        result = loss(model, batch)
    in_a_thread(result.backward)
    assert_equal(gradients(model), expected)


@REENTRANT
def test_checkpointing_of_ones_own_around_the_model(reentrant: bool) -> None:
    """Inside the context, and in another thread as long as it is clear whose pass is repeated."""
    case = BY_NAME["bert"]
    expected, _ = plain_gradients(case, "zero")
    model, batch = checkpointing(exact("bert"), False), inputs(case)
    switch_off(model)
    leaf = torch.ones((), requires_grad=True)

    def own(one: Tensor) -> Tensor:
        return loss(model, batch) * one

    with hc.ablated(model, "L1H0-2"):
        checkpoint(own, leaf, use_reentrant=reentrant).backward()
        assert_equal(gradients(model), expected)
        result = checkpoint(own, leaf, use_reentrant=reentrant)
        in_a_thread(result.backward)
        assert_equal(gradients(model), expected)
        result = checkpoint(own, leaf, use_reentrant=reentrant)
        entered, leave = threading.Event(), threading.Event()

        def other() -> None:
            with hc.ablated(model, "L2"):
                entered.set()
                leave.wait(20)

        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(20)
        with pytest.raises(NotReached, match="gradient_checkpointing_enable"):
            in_a_thread(result.backward)
        leave.set()
        thread.join()


def test_copies_have_plain_checkpointing() -> None:
    model, batch = checkpointing(exact("bert"), False), inputs(BY_NAME["bert"])
    loss(model, batch).backward()
    expected = gradients(model)
    with hc.ablated(model, "L1"):
        other = copy.deepcopy(model)
        loss(other, batch).backward()
        assert_equal(gradients(other), expected)
        layer = model.encoder.layer[0]
        assert isinstance(layer._gradient_checkpointing_func, Repeatable)
        for one in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert not isinstance(one._gradient_checkpointing_func, Repeatable)
        loss(model, batch).backward()
