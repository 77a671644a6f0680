"""What holds for this process alone is named while it is there."""

from __future__ import annotations

import headcount as hc
from headcount.core.local_contexts import open_local_contexts
from tests import planted


def test_open_contexts_are_named() -> None:
    model = planted.classifier()
    assert open_local_contexts() == []
    with hc.ablated(model, "L0H0"):
        assert open_local_contexts() == ["a context such as hc.ablated, hc.gated or hc.observe"]
    assert open_local_contexts() == []
