"""One pass gives all reductions that are wanted at once, and computes the scores of each block once."""

from __future__ import annotations

import pytest
import torch

from headcount.trace import view as view_module
from headcount.trace.block_pass import BlockPass, dtype_of
from headcount.trace.scores import exponentials
from headcount.trace.view import AttentionView
from tests.trace.test_view import by_hand, close, entropy_of, softmax_map


@pytest.mark.parametrize("size", [1, 4, 6, 100])
def test_all_at_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    monkeypatch.setattr(view_module, "exponentials", lambda call: computed.append(call.queries) or exponentials(call))
    call = by_hand()
    expected = softmax_map(call)
    one_pass = BlockPass(AttentionView(call), size)
    classes, chosen = torch.rand(2, 6, 3), torch.rand(2, 4, 6)
    mass, on_chosen, entropy = one_pass.mass(classes), one_pass.mass_on(chosen), one_pass.entropy()
    on_same, distance, largest = one_pass.mass_on(chosen[:, :1]), one_pass.distance(), one_pass.largest()
    one_pass.run()
    close(mass(), expected @ classes.double()[:, None], 1e-6)
    close(on_chosen(), (expected * chosen[:, :, None]).sum(-1), 1e-6)
    close(on_same(), (expected * chosen[:, :1, None]).sum(-1), 1e-6)
    close(entropy(), entropy_of(expected))
    close(largest(), expected.amax(-1))
    place = torch.arange(6)
    close(distance(), (expected * (place - place[:, None]).abs()).sum(-1))
    assert sum(computed) == 6
    assert len(computed) == -(-6 // size)


def test_nothing_wanted_is_nothing_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "exponentials", lambda call: pytest.fail("scores were computed"))
    BlockPass(AttentionView(by_hand()), 2).run()


def test_the_dtype_is_that_of_the_whole_view() -> None:
    call = by_hand()
    assert dtype_of(call) == AttentionView(call).total.dtype == torch.float64
    call.query, call.key, call.value = (one.bfloat16() for one in (call.query, call.key, call.value))  # type: ignore[union-attr]
    assert dtype_of(call) == AttentionView(call).total.dtype == torch.float32
