"""Replacements by degrees: the ends are the model and the ablated model, bit for bit; zeros by degrees are gates."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.ablation.faded import Faded
from headcount.ablation.replacements import make_edit
from headcount.trace.session import session
from tests.closeness import assert_same
from tests.contracts import zoo

IDS = torch.tensor([[3, 5, 7, 2, 9]])


@torch.no_grad()
def faded(model: object, how: str, strength: float) -> torch.Tensor:
    anatomy = hc.read_anatomy(model)
    edits = {("encoder", 1): Faded(make_edit(how, anatomy.attention("encoder", 1), (0, 2), None), strength)}
    with session(model, edits, purpose="a test"):
        return model(input_ids=IDS).last_hidden_state


@pytest.mark.parametrize("how", ["zero", "uniform"])
@torch.no_grad()
def test_the_ends_are_the_model_and_the_ablated_one(how: str) -> None:
    model = zoo.tiny("bert").double()
    assert torch.equal(faded(model, how, 0.0), model(input_ids=IDS).last_hidden_state)
    with hc.ablated(model, ["L1H0", "L1H2"], how=how):
        assert torch.equal(faded(model, how, 1.0), model(input_ids=IDS).last_hidden_state)


@torch.no_grad()
def test_zeros_by_degrees_are_gates() -> None:
    model = zoo.tiny("bert").double()
    gates = torch.ones(3, 4, dtype=torch.float64)
    gates[1, [0, 2]] = 0.7
    with hc.gated(model, gates):
        expected = model(input_ids=IDS).last_hidden_state
    assert_same(faded(model, "zero", 0.3), expected)


@torch.no_grad()
def test_a_map_is_between_the_two() -> None:
    model = zoo.tiny("bert").double()
    own = hc.observe(model, {"input_ids": IDS}).maps["encoder"][1, 2]
    anatomy = hc.read_anatomy(model)
    edits = {("encoder", 1): Faded(make_edit("uniform", anatomy.attention("encoder", 1), (2,), None), 0.25)}
    with session(model, edits, purpose="a test"):
        seen = hc.observe(model, {"input_ids": IDS}).maps["encoder"][1, 2]
    assert_same(seen, 0.75 * own + 0.25 / IDS.shape[1])
