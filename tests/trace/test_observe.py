"""Maps, outputs and gradients of one batch against autograd through an eager model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.errors import InvalidOption
from tests.closeness import assert_same
from tests.contracts import naive
from tests.contracts.zoo import BY_NAME, exact, inputs, tiny


@pytest.mark.parametrize("name", ["bert", "llama", "mpnet", "deberta-v2", "albert"])
def test_map_gradients_equal_finite_differences(name: str) -> None:
    """One weight of a map is moved inside the model's own eager code, up and down: the loss moves by its gradient."""
    case = BY_NAME[name]
    batch, stack, eager = inputs(case, "right"), case.stacks[0], exact(name, "eager")
    objective = lambda result: result.last_hidden_state[:, -1].pow(3).sum()
    found = hc.observe(exact(name, case.kernels[0]), batch, gradients=True, objective=objective).map_gradients[stack]
    step = 1e-3 if case.float32_inside else 1e-5  # a norm in float32 hides smaller ones

    def loss(layer: int, entry: tuple[int, ...], change: float) -> float:
        def move(place: tuple[str, int], weights: torch.Tensor, scores: torch.Tensor) -> None:
            if place == (stack, layer):
                weights[entry] += change

        with naive.changed_weights(eager, move), torch.no_grad():
            return float(objective(eager(**batch)))

    for layer, gradient in enumerate(found):
        largest = float(gradient.abs().max())
        assert largest > 1e-3
        for head in range(4):  # each head's largest entry, by [example, query, key]
            example, query, key = np.unravel_index(int(gradient[head].abs().argmax()), gradient[head].shape)
            entry = (int(example), head, int(query), int(key))
            slope = (loss(layer, entry, step) - loss(layer, entry, -step)) / (2 * step)
            within = 2e-3 if case.float32_inside else 1e-6
            assert float(gradient[head, example, query, key]) == pytest.approx(slope, abs=within * largest)


def test_output_gradients_are_those_of_gates() -> None:
    model, batch = exact("bart"), inputs(BY_NAME["bart"])
    gates = {
        stack: torch.ones(3, 4, dtype=torch.float64, requires_grad=True) for stack in ("encoder", "decoder", "cross")
    }
    with hc.gated(model, gates):
        model(**batch).last_hidden_state[:, -1, 0].sum().backward()
    seen = hc.observe(model, batch, gradients=True, objective=lambda r: r.last_hidden_state[:, -1, 0].sum())
    for stack, gate in gates.items():
        expected = (seen.outputs[stack] * seen.output_gradients[stack]).sum((2, 3, 4))
        assert gate.grad is not None
        assert_same(gate.grad, expected)


def test_a_frozen_model_has_gradients_too() -> None:
    model, batch = exact("bert").requires_grad_(False), inputs(BY_NAME["bert"])
    objective = lambda result: result.last_hidden_state[:, 0, 0].sum()
    frozen = hc.observe(model, batch, gradients=True, objective=objective)
    free = hc.observe(exact("bert"), batch, gradients=True, objective=objective)
    assert_same(frozen.map_gradients["encoder"], free.map_gradients["encoder"])


def test_the_models_own_loss_is_used() -> None:
    model, batch = tiny("bert", head="AutoModelForSequenceClassification"), inputs(BY_NAME["bert"])
    seen = hc.observe(model, batch | {"labels": torch.tensor([0, 1, 2])}, gradients=True)
    assert seen.output_gradients["encoder"].abs().sum() > 0
    with pytest.raises(InvalidOption, match="give labels"):
        hc.observe(model, batch, gradients=True)


def test_maps_inside_uniform_are_uniform() -> None:
    for name in ("bert", "mpnet", "llama"):
        case = BY_NAME[name]
        model, batch = exact(name, case.kernels[0]), inputs(case, "right")
        with hc.ablated(model, "L1H2", how="uniform"):
            maps = hc.observe(model, batch).maps[case.stacks[0]]
        row = maps[1, 2, 2, 4]  # an example with five real tokens
        assert_same(row[:5], torch.full((5,), 0.2, dtype=torch.float64))
        assert row[5:].sum() == 0


def test_only_what_is_asked_for() -> None:
    seen = hc.observe(tiny("bert"), inputs(BY_NAME["bert"]), maps=False)
    assert not seen.maps
    assert seen.outputs["encoder"].shape == (3, 4, 3, 9, 8)
    assert not hc.observe(tiny("bert"), inputs(BY_NAME["bert"]), outputs=False).outputs


@pytest.mark.parametrize("name", ["bert", "deberta-v2", "llama", "mistral", "t5"])
@pytest.mark.parametrize("padding", ["none", "left"])
def test_some_queries(name: str, padding: str) -> None:
    case = BY_NAME[name]
    model, batch = exact(name, case.kernels[0]), inputs(case, padding)
    whole = hc.observe(model, batch).maps
    for queries in ((2, 5), slice(2, 5), torch.tensor([2, 3, 4]), dict.fromkeys(whole, (2, 5))):
        found = hc.observe(model, batch, queries=queries).maps
        for stack, maps in whole.items():
            assert_same(found[stack], maps[..., 2:5, :], case.within)
    gradients = [
        hc.observe(model, batch, gradients=True, objective=lambda result: result[0].pow(2).sum(), queries=queries)
        for queries in (None, (2, 5))
    ]
    for stack, maps in gradients[0].map_gradients.items():
        assert_same(gradients[1].map_gradients[stack], maps[..., 2:5, :], case.within)


@pytest.mark.parametrize("queries", [(9, 12), (3, 3), slice(0, 8, 2), torch.tensor([1, 9])])
def test_queries_that_are_not_there(queries: Any) -> None:
    with pytest.raises(InvalidOption, match="among the 9 queries"):
        hc.observe(tiny("bert"), inputs(BY_NAME["bert"]), queries=queries)
    with pytest.raises(InvalidOption, match="chooses rows of the maps"):
        hc.observe(tiny("bert"), inputs(BY_NAME["bert"]), maps=False, queries=(0, 2))
