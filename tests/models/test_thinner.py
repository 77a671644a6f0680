"""Does a thinner copy compute what a cut model does, and does the original stay as it was?"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import headcount as hc
from headcount.models.anatomy import read_anatomy
from headcount.models.thinner import thinner_copy
from tests.contracts.pruned import PRUNABLE, Before
from tests.contracts.zoo import Case, exact, inputs, run

FAMILY = pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)


def keep(model: Any) -> tuple[dict[tuple[str, int], int], list[str]]:
    """So many parts of each block of the first two layers, and the names of those that go."""
    counts: dict[tuple[str, int], int] = {}
    names = []
    for block in read_anatomy(model).blocks():
        stack, layer = block.layer_key
        if layer < 2:
            counts[block.layer_key] = (3 if block.count < 10 else 17) if layer == 0 else 0
            mark = "U" if stack.endswith(".units") else "H"
            names.append(f"{stack.removesuffix('.units')}.L{layer}{mark}{counts[block.layer_key]}-{block.count - 1}")
    return counts, names


@FAMILY
def test_a_thinner_copy_is_the_cut_model(case: Case) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case)
    before = Before(model, batch)
    counts, names = keep(model)
    thinner = thinner_copy(model, read_anatomy(model).blocks(), counts)
    before.check()
    assert torch.equal(run(thinner, batch), run(hc.prune(copy.deepcopy(model), names), batch))
    again = thinner_copy(thinner, read_anatomy(thinner).blocks(), dict.fromkeys(counts, 0))
    assert {block.layer_key: block.count for block in read_anatomy(again).blocks()}.keys().isdisjoint(counts)


def test_what_is_not_cut_is_shared() -> None:
    model = exact("bert")
    blocks = list(read_anatomy(model).blocks())
    thinner: Any = thinner_copy(model, blocks, {("encoder", 0): 1})
    shared = {id(tensor) for tensor in model.parameters()}
    own = {name for name, tensor in thinner.named_parameters() if id(tensor) not in shared}
    parts = ("self.query.weight", "self.query.bias", "self.key.weight", "self.key.bias", "self.value.weight")
    assert own == {f"encoder.layer.0.attention.{part}" for part in (*parts, "self.value.bias", "output.dense.weight")}
    layer = thinner_copy(model.encoder.layer[1], [block for block in blocks if block.layer == 1], {("encoder", 1): 2})
    assert layer.attention.self.query.weight.shape == (16, 32)
    assert layer.intermediate.dense.weight is model.encoder.layer[1].intermediate.dense.weight
