"""Gradients of attention maps against `observe`, autograd through an eager model, and finite differences."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.bert import modeling_bert

import headcount as hc
from headcount.trace.call import AttentionCall
from headcount.trace.gradients import each_output_gradient, map_gradient
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs, tiny
from tests.measures.tiny import assert_untouched, first_output

FAMILIES = ("bert", "albert", "modernbert", "mpnet", "deberta-v2", "gpt2", "llama", "t5", "bart")


def objective(result: Any) -> Tensor:
    found: Tensor = result.last_hidden_state[:, -2:].pow(3).sum()
    return found


def found_by_layer(model: Any, batch: dict[str, Tensor], aim: Any = objective) -> dict[tuple[str, int], Tensor]:
    found: dict[tuple[str, int], Tensor] = {}

    def look(call: AttentionCall, gradient: Tensor) -> None:
        place = (call.block.stack, call.block.layer)
        assert place not in found
        found[place] = map_gradient(call, gradient)

    each_output_gradient(model, batch, aim, look)
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_as_observe(name: str) -> None:
    case = BY_NAME[name]
    model, batch = exact(name, case.kernels[0]), inputs(case, "right")
    seen = hc.observe(model, batch, gradients=True, objective=objective).map_gradients
    found = found_by_layer(model, batch)
    assert len(found) == sum(len(gradients) for gradients in seen.values())
    for (stack, layer), gradient in found.items():
        expected = seen[stack][layer].transpose(0, 1)
        assert_same(gradient, expected, case.within)
        assert not gradient.requires_grad
    assert max(float(gradient.abs().max()) for gradient in found.values()) > 1e-3


@pytest.mark.parametrize("name", ["bert", "bart", "llama"])
def test_the_same_as_autograd_through_the_weights_of_an_eager_model(name: str) -> None:
    case = BY_NAME[name]
    batch = inputs(case, "right")
    eager = exact(name, "eager")
    result = eager(**batch, output_attentions=True)
    if case.kind == "pair":
        weights = {
            (stack, layer): one for stack in case.stacks for layer, one in enumerate(result[f"{stack}_attentions"])
        }
    else:
        weights = {(case.stacks[0], layer): one for layer, one in enumerate(result.attentions)}
    expected = dict(zip(weights, torch.autograd.grad(objective(result), list(weights.values())), strict=True))
    for kernel in ("sdpa", "eager"):
        found = found_by_layer(exact(name, kernel), batch)
        assert found.keys() == expected.keys()
        for place, gradient in found.items():
            assert gradient.dtype == torch.float64
            assert_same(gradient, expected[place], case.within)


def test_the_same_as_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """One weight of a map is moved inside the attention function of an eager BERT in float64."""
    model, batch = exact("bert", "eager"), inputs(BY_NAME["bert"], "right")
    found = found_by_layer(model, batch)
    plain = modeling_bert.eager_attention_forward
    moved: dict[str, Any] = {}

    def attention(module: Any, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Any:
        output, weights = plain(module, query, key, value, *args, **kwargs)
        if module is moved["module"]:
            change = torch.zeros_like(weights)
            change[moved["entry"]] = moved["step"]
            output = torch.matmul(weights + change, value).transpose(1, 2)
        return output, weights

    def loss(step: float) -> float:
        moved["step"] = step
        with torch.no_grad():
            return float(objective(model(**batch)))

    monkeypatch.setattr(modeling_bert, "eager_attention_forward", attention)
    generator = torch.Generator().manual_seed(0)
    for layer in range(3):
        moved["module"] = model.encoder.layer[layer].attention.self
        for _ in range(6):
            example, head, query, key = (int(torch.randint(0, size, (), generator=generator)) for size in (3, 4, 3, 5))
            moved["entry"] = (example, head, query, key)
            expected = (loss(1e-5) - loss(-1e-5)) / 2e-5
            gradient = found["encoder", layer][example, head, query, key]
            assert float(gradient) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_frozen_model_and_inference_mode() -> None:
    batch = inputs(BY_NAME["bert"])
    free = found_by_layer(exact("bert"), batch)
    frozen = found_by_layer(exact("bert").requires_grad_(False), batch)
    with torch.no_grad():
        without = found_by_layer(exact("bert"), batch)
    model = exact("bert")
    with torch.inference_mode():
        inference = found_by_layer(model, batch)
    for place, gradient in free.items():
        for other in (frozen, without, inference):
            assert_same(other[place], gradient)


def test_what_the_loss_does_not_see_has_no_gradient() -> None:
    """The first example alone, after the first layer."""
    batch: Any = inputs(BY_NAME["bert"]) | {"output_hidden_states": True}
    found = found_by_layer(tiny("bert"), batch, lambda result: result.hidden_states[1][0].pow(3).sum())
    assert found["encoder", 0][0].abs().max() > 1e-3
    assert found["encoder", 0][1:].abs().max() == 0
    for layer in (1, 2):
        assert found["encoder", layer].shape == (3, 4, 9, 9)
        assert found["encoder", layer].abs().max() == 0


class Mistake(Exception):
    pass


@pytest.mark.parametrize("name", ["bert", "mpnet"])
@pytest.mark.parametrize("where", ["nowhere", "objective", "look", "model"])
def test_nothing_stays_behind(name: str, where: str) -> None:
    case = BY_NAME[name]
    model, batch = tiny(name, case.kernels[0]), inputs(case, "right")
    before = first_output(model, batch)

    def fail(at: str) -> None:
        if at == where:
            raise Mistake

    def aim(result: Any) -> Tensor:
        fail("objective")
        return objective(result)

    handle = model.encoder.layer[1].register_forward_hook(lambda *_: fail("model"))
    try:
        each_output_gradient(model, batch, aim, lambda call, gradient: fail("look"))
    except Mistake:
        assert where != "nowhere"
    else:
        assert where == "nowhere"
    handle.remove()
    assert_untouched(model, batch, before)
