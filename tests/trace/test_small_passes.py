"""What a small pass shows: calls in order, also with a cache, layers, real positions; errors carry their step."""

from __future__ import annotations

import pytest
import torch

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.models.example_inputs import example_inputs
from headcount.trace.small_passes import SmallPasses, at_real_positions, step
from tests.contracts.zoo import tiny


@torch.no_grad()
def test_calls_and_layers_of_a_pass() -> None:
    model = tiny("llama")
    passes = SmallPasses(model)
    assert passes.model is not model
    assert passes.model.dtype == torch.float64
    batch = example_inputs(passes.model)
    calls = passes.record(batch)
    assert [passes.names[call.module] for call in calls] == [f"layers.{layer}.self_attn" for layer in range(3)]
    assert [(call.query.shape[2], call.key.shape[2]) for call in passes.cached(batch)] == [(1, 13)] * 3
    given = passes.layers(read_anatomy(passes.model), batch)
    assert list(given) == ["layers.0", "layers.1", "layers.2", "the model"]
    assert {tensor.shape for tensor in given.values()} == {(18, 32)}, "padding is left out"


def test_positions_of_padding_are_left_out() -> None:
    mask = torch.tensor([[1, 1, 1], [1, 0, 0]])
    output = torch.arange(6.0).reshape(2, 3, 1)
    assert at_real_positions(output, {"attention_mask": mask}).flatten().tolist() == [0, 1, 2, 3]
    assert at_real_positions(output[:, :2], {"attention_mask": mask}).shape == (2, 2, 1)


def test_an_error_carries_its_step() -> None:
    with pytest.raises(UnknownFamily, match="^zero: ValueError: that$"), step("zero"):
        raise ValueError("that\nand more")
    with pytest.raises(UnknownFamily, match="^uniform: this"), step("maps"):
        raise UnknownFamily("uniform: this")
