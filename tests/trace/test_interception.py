"""Every attention call of a model is seen and can be answered; afterwards the interface is as it was."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headcount.trace.interception import InterfaceCall, intercepted
from tests.contracts.zoo import BY_NAME, LAYERS, inputs, tiny


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
@torch.no_grad()
def test_calls_are_seen_and_answered(kernel: str) -> None:
    model, other, batch = tiny("llama", kernel), tiny("llama", kernel), inputs(BY_NAME["llama"])
    plain, calls = model(**batch).last_hidden_state, []

    def keep(call: InterfaceCall) -> Tensor:
        calls.append(call)
        return call.output

    before = ALL_ATTENTION_FUNCTIONS.get(kernel)
    with intercepted(model, keep):
        assert torch.equal(model(**batch).last_hidden_state, plain)
        assert torch.equal(other(**batch).last_hidden_state, plain)
    assert [call.module for call in calls] == [layer.self_attn for layer in model.layers]
    assert calls[0].output.shape == (3, 9, 4, 8)
    with intercepted(model, lambda call: torch.zeros_like(call.output)):
        without = model(**batch).last_hidden_state
    assert not torch.allclose(without, plain)
    assert ALL_ATTENTION_FUNCTIONS.get(kernel) is before


def test_nothing_stays_after_an_error() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"])
    before = ALL_ATTENTION_FUNCTIONS.get("sdpa")

    def fail(call: InterfaceCall) -> Tensor:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), intercepted(model, fail):
        model(**batch)
    assert ALL_ATTENTION_FUNCTIONS.get("sdpa") is before
    assert len(model.encoder.layer) == LAYERS
