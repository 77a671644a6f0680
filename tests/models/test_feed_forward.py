"""What a feed-forward block says of itself; what is done with its units: tests/contracts/test_units.py."""

from __future__ import annotations

import pytest

import headcount as hc
from headcount.models.anatomy import read_anatomy
from tests.contracts.pruned import PRUNABLE
from tests.contracts.zoo import Case, tiny


@pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)
def test_parameters_of_a_unit_are_those_that_go_with_it(case: Case) -> None:
    model = tiny(case.name, case.kernels[0])
    stack = next(iter(read_anatomy(model).feed_forwards))
    block = read_anatomy(model).feed_forward(stack, 1)
    before = sum(parameter.numel() for parameter in model.parameters())
    hc.prune(model, [f"{stack}.L1U3-5"])
    assert before - sum(parameter.numel() for parameter in model.parameters()) == 3 * block.parameters_per_unit
    left = read_anatomy(model).feed_forward(stack, 1)
    assert left.columns((2, 6)) == [2, 3]
    assert left.output_matrix.shape[0] == left.count == block.count - 3
