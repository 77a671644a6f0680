"""What holds for this process alone is named while it is there."""

from __future__ import annotations

import headcount as hc
from headcount.core.staying import what_stays
from tests import planted


def test_open_contexts_are_named() -> None:
    model = planted.classifier()
    assert what_stays() == []
    with hc.ablated(model, "L0H0"):
        assert what_stays() == ["a context such as hc.ablated, hc.gated or hc.observe"]
    assert what_stays() == []
