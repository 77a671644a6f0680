"""Maps, outputs and gradients of one batch against autograd through an eager model."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.errors import InvalidOption
from tests.contracts.zoo import BY_NAME, inputs, tiny


@pytest.mark.parametrize("name", ["bert", "llama", "mpnet", "deberta-v2", "albert"])
def test_map_gradients_equal_finite_differences(name: str) -> None:
    """Moving one weight of a map moves the loss by its gradient: the output moves by that weight's value vector."""
    case = BY_NAME[name]
    model, batch = tiny(name, case.kernels[0]), inputs(case)
    stack = case.stacks[0]
    objective = lambda result: result.last_hidden_state[:, -1].pow(3).sum()
    seen = hc.observe(model, batch, gradients=True, objective=objective)
    gradient = seen.map_gradients[stack]
    assert gradient.shape == seen.maps[stack].shape
    # Summed over keys with the map's weights this is the head's share in the loss: output times its gradient.
    shares = (seen.maps[stack] * gradient).sum((-1, -2))
    expected = (seen.outputs[stack] * seen.output_gradients[stack]).sum((-1, -2))
    torch.testing.assert_close(shares, expected, atol=1e-4, rtol=1e-3)
    assert gradient.abs().max() > 1e-3


def test_output_gradients_are_those_of_gates() -> None:
    model, batch = tiny("bart"), inputs(BY_NAME["bart"])
    gates = {stack: torch.ones(3, 4, requires_grad=True) for stack in ("encoder", "decoder", "cross")}
    with hc.gated(model, gates):
        model(**batch).last_hidden_state[:, -1, 0].sum().backward()
    seen = hc.observe(model, batch, gradients=True, objective=lambda r: r.last_hidden_state[:, -1, 0].sum())
    for stack, gate in gates.items():
        expected = (seen.outputs[stack] * seen.output_gradients[stack]).sum((2, 3, 4))
        assert gate.grad is not None
        torch.testing.assert_close(gate.grad, expected, atol=1e-5, rtol=1e-4)


def test_a_frozen_model_has_gradients_too() -> None:
    model, batch = tiny("bert").requires_grad_(False), inputs(BY_NAME["bert"])
    objective = lambda result: result.last_hidden_state[:, 0, 0].sum()
    frozen = hc.observe(model, batch, gradients=True, objective=objective)
    free = hc.observe(tiny("bert"), batch, gradients=True, objective=objective)
    torch.testing.assert_close(frozen.map_gradients["encoder"], free.map_gradients["encoder"])


def test_the_models_own_loss_is_used() -> None:
    model, batch = tiny("bert", head="AutoModelForSequenceClassification"), inputs(BY_NAME["bert"])
    seen = hc.observe(model, batch | {"labels": torch.tensor([0, 1, 2])}, gradients=True)
    assert seen.output_gradients["encoder"].abs().sum() > 0
    with pytest.raises(InvalidOption, match="give labels"):
        hc.observe(model, batch, gradients=True)


def test_maps_inside_uniform_are_uniform() -> None:
    for name in ("bert", "mpnet", "llama"):
        case = BY_NAME[name]
        model, batch = tiny(name, case.kernels[0]), inputs(case, "right")
        with hc.ablated(model, "L1H2", how="uniform"):
            maps = hc.observe(model, batch).maps[case.stacks[0]]
        row = maps[1, 2, 2, 4]  # an example with five real tokens
        torch.testing.assert_close(row[:5], torch.full((5,), 0.2))
        assert row[5:].sum() == 0


def test_only_what_is_asked_for() -> None:
    seen = hc.observe(tiny("bert"), inputs(BY_NAME["bert"]), maps=False)
    assert not seen.maps
    assert seen.outputs["encoder"].shape == (3, 4, 3, 9, 8)
    assert not hc.observe(tiny("bert"), inputs(BY_NAME["bert"]), outputs=False).outputs
