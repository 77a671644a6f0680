"""A kernel that is not what the formulas say is noticed: its scale, its mask, its softmax."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.models.attention import Attention
from headcount.trace.interception import InterfaceCall, intercepted
from headcount.trace.kernel_proof import apart, prove_kernel
from tests.contracts.zoo import BY_NAME, inputs, tiny


def recorded(name: str, kernel: str, padding: str = "right") -> tuple[InterfaceCall, Attention]:
    model, calls = tiny(name, kernel), []

    def answer(call: InterfaceCall) -> Tensor:
        calls.append(call)
        return call.output

    with torch.no_grad(), intercepted(model, answer):
        model(**inputs(BY_NAME[name], padding))
    blocks = {block.module: block for block in read_anatomy(model)}
    return calls[1], blocks[calls[1].module]


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "mistral", "t5", "bart", "modernbert"])
def test_the_kernels_of_known_families_pass(name: str, kernel: str) -> None:
    call, block = recorded(name, kernel)
    prove_kernel(call, block, seed=1)


def spoil(call: InterfaceCall, **changes: Any) -> InterfaceCall:
    def function(module: Any, *given: Any, **options: Any) -> Any:
        parts = dict(zip(("query", "key", "value", "mask"), given, strict=True))
        changed = [changes[name](part) if name in changes else part for name, part in parts.items()]
        return call.function(module, *changed, **options)

    return replace(call, function=function)


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_other_kernels_are_refused(kernel: str) -> None:
    call, block = recorded("bert", kernel)
    for changes in (
        {"query": lambda query: 1.01 * query},
        {"value": lambda value: value.flip(1)},
        {"key": lambda key: key.roll(1, 2)},
        {"mask": lambda mask: None},
    ):
        with pytest.raises(UnknownFamily, match="maps: the outputs of encoder.layer.1.attention.self are not its map"):
            prove_kernel(spoil(call, **changes), block, seed=1)
    with pytest.raises(UnknownFamily, match="maps: .* the same whatever its queries are"):
        prove_kernel(replace(call, options={**call.options, "scaling": 0.0}), block, seed=1)


def test_a_kernel_that_attends_to_more_where_all_scores_are_equal() -> None:
    call, block = recorded("bert", "sdpa")

    def function(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> Any:
        mask = mask if bool(query.any()) else None
        return call.function(module, query, key, value, mask, **options)

    with pytest.raises(UnknownFamily, match="uniform: overwritten weights"):
        prove_kernel(replace(call, function=function), block, seed=1)


def test_differences_are_relative_and_never_silent() -> None:
    assert apart(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])) == 0.5
    assert apart(torch.ones(2), torch.ones(3)) == float("inf")
    assert apart(torch.tensor([float("nan")]), torch.tensor([float("nan")])) == float("inf")
