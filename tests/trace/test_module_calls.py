"""Families that compute attention themselves: what is heard of them, and that they do not notice."""

from __future__ import annotations

import pytest
import torch

from headcount.models.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.module_calls import listen_at_module
from tests.contracts.zoo import BY_NAME, inputs, tiny

NAMES = ("mpnet", "deberta-v2")


@pytest.mark.parametrize("asked", [False, True], ids=["maps not asked for", "maps asked for"])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_a_call_is_heard_and_the_result_is_the_models_own(name: str, weights: bool, asked: bool) -> None:
    model, batch = tiny(name, BY_NAME[name].kernels[0]), inputs(BY_NAME[name], "right")
    block = read_anatomy(model).attention("encoder", 1)
    expected = model(**batch, output_attentions=asked)
    maps = model(**batch, output_attentions=True).attentions[1]
    calls: list[AttentionCall] = []
    stop = listen_at_module(block, calls.append, lambda: True, weights)
    found = model(**batch, output_attentions=asked)
    stop()
    assert found.keys() == expected.keys()
    assert torch.equal(found[0], expected[0])
    assert not asked or all(map(torch.equal, found.attentions, expected.attentions))
    (call,) = calls
    assert call.value.shape == (*batch["input_ids"].shape[:1], len(block.heads), call.queries, block.head_size)
    assert call.mask is not None
    assert (call.weights is not None) == weights
    assert call.weights is None or torch.equal(call.weights, maps)
    model(**batch)
    assert len(calls) == 1, "a hook stayed"


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_a_pass_that_nobody_wants_to_hear_of(name: str) -> None:
    model, batch = tiny(name, BY_NAME[name].kernels[0]), inputs(BY_NAME[name])
    calls: list[AttentionCall] = []
    stop = listen_at_module(read_anatomy(model).attention("encoder", 1), calls.append, lambda: False, True)
    assert model(**batch).attentions is None
    stop()
    assert not calls
