"""Are copies of output projections what the model computes with, and does what is written back come out again?"""

from __future__ import annotations

import copy

import pytest
import torch

import headcount as hc
from headcount.models.anatomy import read_anatomy
from headcount.models.output_weights import all_keys, parts_of, read_output_weights, write_output
from tests.closeness import assert_same
from tests.contracts.zoo import CASES, Case, exact, inputs, run

FAMILY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@FAMILY
def test_the_copy_computes_what_the_projection_does(case: Case) -> None:
    model = exact(case.name, case.kernels[0])
    anatomy, weights = read_anatomy(model), read_output_weights(model)
    assert list(weights) == all_keys(anatomy)
    for key, copied in weights.items():
        block = anatomy.block(key)
        read = torch.randn(2, len(copied.parts) * copied.size, dtype=torch.float64)
        given = read @ copied.matrix + (0 if copied.bias is None else copied.bias)
        with torch.no_grad():
            assert_same(given, block.output(read))


@FAMILY
def test_written_back_the_model_is_the_same(case: Case) -> None:
    model, batch = exact(case.name, case.kernels[0]), inputs(case)
    before, weights = run(model, batch), read_output_weights(model)
    anatomy = read_anatomy(model)
    with torch.no_grad():
        for key in all_keys(anatomy):
            anatomy.block(key).output.weight.zero_()  # type: ignore[operator, union-attr]
    assert (run(model, batch) - before).abs().max() > 1e-3, "copies, not views: they outlive the change"
    for key, copied in weights.items():
        write_output(anatomy.block(key), copied.matrix, copied.bias)
    assert torch.equal(run(model, batch), before)


def test_columns_and_blocks_that_have_lost_everything() -> None:
    whole = exact("bert")
    model = hc.prune(copy.deepcopy(whole), ["L0H1", "L1", "L2U"])
    weights = read_output_weights(model)
    assert weights["encoder", 0].parts == (0, 2, 3)
    assert weights["encoder", 0].columns([2, 3]) == list(range(8, 24))
    assert weights["encoder", 1].matrix.shape == (0, 32)
    assert weights["encoder.units", 2].parts == parts_of(read_anatomy(model).block(("encoder.units", 2))) == ()
    assert list(read_output_weights(model, [("encoder.units", 0)])) == [("encoder.units", 0)]
    kept = read_output_weights(whole)["encoder", 0]
    assert torch.equal(kept.matrix[kept.columns([0, 2, 3])], weights["encoder", 0].matrix)
