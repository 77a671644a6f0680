"""Gates: what they are refused for, and gates of each example's own."""

from __future__ import annotations

import pytest
import torch

import headcount as hc
from headcount.errors import InvalidOption
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs, run, tiny


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        (torch.ones(4, 3), r"shape \[4, 3\].*\[layer, head\] = \[3, 4\]"),
        (torch.ones(12), "shape"),
        (torch.full((3, 4), float("nan")), "NaN"),
        (torch.full((3, 4), float("inf")), "infinity"),
        ({"cross": torch.ones(3, 4)}, "the model has encoder"),
        ({}, "empty"),
    ],
)
def test_wrong_gates(gates: object, expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected), hc.gated(tiny("bert"), gates):
        pass


def test_several_stacks_need_a_dict() -> None:
    with pytest.raises(InvalidOption, match="dict"), hc.gated(tiny("bart"), torch.ones(3, 4)):
        pass
    model, batch = tiny("bart"), inputs(BY_NAME["bart"])
    plain = run(model, batch)
    with hc.gated(model, {"cross": torch.zeros(3, 4)}):
        assert not torch.equal(run(model, batch), plain)


def test_a_gate_of_zero_is_ablation() -> None:
    model, batch = tiny("bert"), inputs(BY_NAME["bert"], "right")
    gates = torch.ones(3, 4)
    gates[2, 1] = 0
    with hc.ablated(model, "L2H1"):
        expected = run(model, batch)
    with hc.gated(model, gates):
        assert torch.equal(run(model, batch), expected)
    with hc.gated(model, gates.int()):
        assert torch.equal(run(model, batch), expected)


def test_gates_of_each_example_give_each_examples_gradient() -> None:
    model, batch = exact("bert"), inputs(BY_NAME["bert"])
    gates = torch.ones(3, 3, 4, dtype=torch.float64, requires_grad=True)  # three examples, three layers, four heads
    with hc.gated(model, gates):
        model(**batch).last_hidden_state[:, 0, 0].sum().backward()
    assert gates.grad is not None
    for row in range(3):
        alone = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
        with hc.gated(model, alone):
            model(**{key: value[row : row + 1] for key, value in batch.items()}).last_hidden_state[0, 0, 0].backward()
        assert alone.grad is not None
        assert_same(gates.grad[row], alone.grad)
