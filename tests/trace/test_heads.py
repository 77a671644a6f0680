"""Which heads a model has: all of them, some, and none that it lacks."""

from __future__ import annotations

import pytest

import headcount as hc
from headcount.errors import UnknownHead
from tests.contracts.zoo import tiny


def test_all_and_some() -> None:
    model = tiny("bert")
    assert list(hc.heads(model)) == list(hc.read_anatomy(model).layout)
    assert str(hc.heads(model, ["L0H1", "L1"])) == "L0H1, L1"
    hc.prune(model, "L0H1")
    assert "L0H1" not in map(str, hc.heads(model))


@pytest.mark.parametrize("pick", ["", "L99", "L0H99", "nonsense"])
def test_heads_that_are_not_there(pick: str) -> None:
    with pytest.raises(UnknownHead):
        hc.heads(tiny("bert"), pick)
