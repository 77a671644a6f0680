"""Does a layer that is run alone, with the arguments of a real pass, give what it gives in that pass?"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.models.anatomy import read_anatomy
from headcount.trace.layer_arguments import layer_arguments
from tests.contracts.zoo import CASES, Case, inputs, tiny
from tests.measures.tiny import hooks_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_layer_alone_is_the_layer_of_the_pass(case: Case) -> None:
    model, batch = tiny(case.name, case.kernels[0]), inputs(case)
    layers = list(dict.fromkeys(block.layer_module for block in read_anatomy(model)))
    given: dict[Any, Any] = {}
    handles = [
        layer.register_forward_hook(lambda layer, _, output: given.setdefault(layer, output)) for layer in layers
    ]
    with torch.no_grad():
        model(**batch)
    for handle in handles:
        handle.remove()
    seen = layer_arguments(model, layers, batch)
    assert list(seen) == [layer for layer in given if layer in seen] == list(given)
    for layer, (args, kwargs) in seen.items():
        for _ in range(2):  # a cache would grow
            with torch.no_grad():
                found = layer(*args, **kwargs)
            first, expected = (one[0] if isinstance(one, tuple) else one for one in (found, given[layer]))
            torch.testing.assert_close(first, expected)
    assert hooks_of(model) == 0


def test_modes_and_forwards_are_as_before() -> None:
    case = next(case for case in CASES if case.name == "bert")
    model = tiny("bert").train()
    layer = model.encoder.layer[1]
    layer_arguments(model, [layer], inputs(case))
    assert model.training
    assert "forward" not in vars(layer)
