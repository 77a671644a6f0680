"""What an observer is shown of a layer: its map as the edits that can change it left it, its outputs always."""

from __future__ import annotations

import pytest
import torch

from headcount.ablation.replacements import Uniform, Zero
from headcount.trace.edits import LayerRun
from headcount.trace.gates import Gate
from headcount.trace.view import AttentionView
from tests.trace.test_view import by_hand, close


def test_only_edits_that_know_the_call_change_the_map() -> None:
    call, outputs = by_hand(), torch.zeros(2, 6, 4, 8)
    plain = AttentionView(call).map
    gated = LayerRun(call.block, outputs, call, (Gate(torch.zeros(4)), Zero([1])))
    assert torch.equal(gated.attention().map, plain)
    assert not gated.attention().changes
    view = LayerRun(call.block, outputs, call, (Zero([1]), Uniform([2]))).attention(torch.ones(2, 6, 1))
    close(view.map[:, 2], torch.full((2, 6, 6), 1 / 6, dtype=torch.float64))
    close(view.map[:, [0, 1, 3]], plain[:, [0, 1, 3]])
    close(view.mass[..., 0], torch.ones(2, 4, 6))
    assert view.outputs is outputs
    assert view.of_heads([0]) is None, "an edit counts the heads of the whole layer"


def test_a_layer_without_its_call_has_no_map() -> None:
    call = by_hand()
    run = LayerRun(call.block, torch.zeros(2, 6, 4, 8))
    assert run.layer_key == ("encoder", 0)
    with pytest.raises(AssertionError, match="outputs_only"):
        run.attention()
