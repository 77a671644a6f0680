"""Which projections of a model's layers can take adapters?"""

from __future__ import annotations

import pytest

import headcount as hc
from headcount.models.linear_layers import linear_layers, transposed
from headcount.trace.anatomy import read_anatomy
from tests.contracts.zoo import tiny
from tests.pruning import planted_groups as groups


@pytest.mark.parametrize(("name", "each", "layers"), [("bert", 6, 3), ("gpt2", 4, 3), ("llama", 7, 3), ("t5", 0, 0)])
def test_all_projections_of_all_layers(name: str, each: int, layers: int) -> None:
    model = tiny(name)
    found = linear_layers(model, read_anatomy(model))
    assert len(set(found)) == len(found)
    assert not any("embed" in one or one.endswith(("lm_head", "classifier")) for one in found)
    if layers:
        assert len(found) == each * layers
    assert transposed(model, found) == (name == "gpt2")


def test_what_a_cut_left_without_weights_is_none() -> None:
    model = hc.prune(groups.llama(), ["L2", "L0H0"])
    found = linear_layers(model, read_anatomy(model))
    assert not any("layers.2.self_attn" in name for name in found)
    assert len([name for name in found if "layers.2." in name]) == 3
    assert len([name for name in found if "layers.0." in name]) == 7
    assert "lm_head" not in found
