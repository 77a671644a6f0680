"""Which models get the short last layer; that it is the same is tested in tests/trace/test_replay.py."""

from __future__ import annotations

import pytest
import torch

from headcount.models.anatomy import read_anatomy
from headcount.models.first_position import first_position_forward
from tests.closeness import assert_same
from tests.contracts.zoo import BY_NAME, exact, inputs, tiny


@pytest.mark.parametrize("name", ["bert", "camembert", "distilbert"])
def test_it_gives_the_first_position_of_the_layer(name: str) -> None:
    model = exact(name, head="AutoModelForSequenceClassification")
    layer = read_anatomy(model).stacks["encoder"][-1].layer_module
    forward = first_position_forward(model, read_anatomy(model))
    hidden = torch.randn(2, 5, 32, dtype=torch.float64)
    assert forward is not None
    assert_same(forward(hidden), layer(hidden)[:, :1])


def test_bare_models_keep_all_positions() -> None:
    model = tiny("bert")
    assert first_position_forward(model, read_anatomy(model)) is None
    assert model(**inputs(BY_NAME["bert"])).last_hidden_state.shape[1] == 9
