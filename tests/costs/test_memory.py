"""Is the peak of a pass the weights and the largest set of tensors that live at once?"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import headcount as hc
from headcount.costs.cost import make_inputs
from headcount.costs.memory import peak_bytes
from tests.contracts.zoo import BY_NAME, inputs, tiny
from tests.measures.tiny import hooks_of

N = 250  # numbers of the input: 1000 bytes


class Made(nn.Module):
    """A weight of 40 bytes, a buffer of 12, and a pass of known tensors."""

    device = torch.device("cpu")

    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(10))
        self.register_buffer("three", torch.ones(3))
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.steps(self, x)
        return found


def peak(steps: Any, batch: int = 1, **more: Tensor) -> int:
    return peak_bytes(Made(steps), {"x": torch.ones(batch, N)} | more) - 52  # type: ignore[arg-type]


def test_the_largest_set_of_tensors() -> None:
    def steps(_: Made, x: Tensor) -> Tensor:
        a = x + 1  # 1
        b = torch.cat([a, a])  # 1 + 2
        del a  # 2
        c = b + 1  # 2 + 2
        del b, c
        return x + 1

    assert peak(steps) == 4000
    assert peak(steps, batch=3) == 3 * 4000


def test_freed_tensors_do_not_count() -> None:
    def steps(_: Made, x: Tensor) -> Tensor:
        for _ in range(50):
            x = x + 1  # the new one beside the old one
        return x

    assert peak(steps) == 2000


def test_kept_tensors_count() -> None:
    assert peak(lambda _, x: torch.stack([x + 1 for _ in range(50)])) == 100_000
    assert peak(lambda _, x: [x + 1 for _ in range(50)][-1]) == 50_000


def test_views_weights_and_inputs_are_no_new_bytes() -> None:
    def steps(model: Made, x: Tensor) -> Tensor:
        parts = [x.view(-1), x.t(), x[:, 3:], model.weight.detach(), model.weight[2:], x.add_(1)]
        return parts[0]

    assert peak(steps) == 0


def test_a_view_keeps_the_whole_tensor() -> None:
    def steps(_: Made, x: Tensor) -> Tensor:
        one = (x + 1)[:, :1]
        return torch.stack([one.expand(-1, N), one.expand(-1, N)])

    assert peak(steps) == 1000 + 2000


def test_number_types() -> None:
    assert peak(lambda _, x: x.double()) == 2000
    assert peak(lambda _, x: x.half()) == 500
    assert peak(lambda _, x: x > 0) == 250


def test_shared_weights_count_once() -> None:
    model = Made(lambda _, x: x)
    model.again, model.part = model.weight, nn.Parameter(model.weight.detach()[:5])
    assert peak_bytes(model, {"x": torch.ones(N)}) == 52  # type: ignore[arg-type]


def test_after_an_error_and_what_is_left() -> None:
    def fails(model: Made, x: Tensor) -> Tensor:
        model.left = x + 1
        raise ZeroDivisionError

    model = Made(fails).train()
    with pytest.raises(ZeroDivisionError):
        peak_bytes(model, {"x": torch.ones(1, N)})  # type: ignore[arg-type]
    assert model.training
    del model.left
    assert peak(lambda _, x: x + 1) == 1000


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "vit"])
def test_models(name: str) -> None:
    case, model = BY_NAME[name], tiny(name)
    weights = sum(one.numel() * one.element_size() for one in (*model.parameters(), *model.buffers()))
    once = peak_bytes(model, inputs(case, batch=2))
    assert once == peak_bytes(model, inputs(case, batch=2))
    assert weights < once < peak_bytes(model, inputs(case, batch=4)) < peak_bytes(model, inputs(case, batch=8))
    assert hooks_of(model) == 0
    assert all(one.grad is None for one in model.parameters())


def test_it_grows_with_the_length_and_falls_with_a_cut() -> None:
    model = tiny("bert", "eager")
    short, long = (peak_bytes(model, make_inputs(model, 2, length)) for length in (8, 32))
    assert short < long
    hc.prune(model, ["L0H0-2", "L1H0-2", "L2H0-2"])
    assert peak_bytes(model, make_inputs(model, 2, 32)) < long
    assert peak_bytes(model.half(), make_inputs(model, 2, 32)) < long / 2


def test_dropout_is_not_part_of_it() -> None:
    model = tiny("bert")
    batch = inputs(BY_NAME["bert"])
    quiet = peak_bytes(model, batch)
    assert peak_bytes(model.train(), batch) == quiet
    assert model.training
