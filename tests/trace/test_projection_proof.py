"""The projection of each attention is found, whatever stands around it; columns of heads that are not are refused."""

from __future__ import annotations

import pytest
import torch

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.models.example_inputs import example_inputs
from headcount.trace.projection_proof import find_projections, prove_zero
from headcount.trace.small_passes import SmallPasses
from tests.contracts.zoo import tiny
from tests.trace import spoiled


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "vit", "modernbert"])
@torch.no_grad()
def test_projections_of_known_families(name: str) -> None:
    """What the records say is found without them, and holds."""
    passes = SmallPasses(tiny(name))
    batch = example_inputs(passes.model, padded=1)
    anatomy = read_anatomy(passes.model)
    assert find_projections(passes, batch, seed=0) == {block.module: block.output_name for block in anatomy}
    prove_zero(passes, anatomy, batch)


@torch.no_grad()
def test_two_readers() -> None:
    passes = SmallPasses(spoiled.decoder((spoiled.Plain, spoiled.ReadTwice)))
    with pytest.raises(UnknownFamily, match="projection: layers.1.self_attn.o, layers.1.self_attn.other reads"):
        find_projections(passes, example_inputs(passes.model, padded=1), seed=0)
