"""A view in blocks of queries gives what the whole map gives, whatever the size of the blocks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headcount.models.anatomy import read_anatomy
from headcount.trace import blocked_view as module
from headcount.trace.block_pass import BlockPass
from headcount.trace.blocked_view import BlockedView
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerRun
from headcount.trace.session import session
from headcount.trace.view import AttentionView
from tests.contracts.zoo import BY_NAME, exact, inputs
from tests.trace.test_view import block, by_hand, calls, check_reductions, close, softmax_map

SIZES = [1, 2, 5, 7]


@settings(max_examples=40, deadline=None)
@given(calls(), st.integers(1, 10))
def test_any_block_size(made: tuple[AttentionCall, Tensor], size: int) -> None:
    """Causal, bidirectional and masked at random, with a mask for each head or one for all, and shared keys."""
    call, expected = made
    check_reductions(lambda classes: BlockedView(AttentionView(call, classes), size), expected)


@settings(max_examples=20, deadline=None)
@given(calls(), st.integers(1, 10))
def test_a_map_that_is_given_is_taken_as_it_is(made: tuple[AttentionCall, Tensor], size: int) -> None:
    call, expected = made
    silent = AttentionCall(call.block, "module", call.value, None, call.queries, weights=expected.flip(-1))
    check_reductions(lambda classes: BlockedView(AttentionView(silent, classes), size), expected.flip(-1))


@pytest.mark.parametrize("size", SIZES)
def test_softcap_bias_window_and_padding(size: int) -> None:
    def check(call: AttentionCall, **more: Any) -> None:
        check_reductions(lambda classes: BlockedView(AttentionView(call, classes), size), softmax_map(call, **more))

    check(by_hand(softcap=1.5))
    bias = torch.randn(1, 4, 6, 9, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    check(by_hand(position_bias=bias, scaling=1.0), bias=bias[..., :6])
    check(by_hand(bias[..., :6].expand(2, -1, -1, -1)), bias=bias[..., :6])
    padding = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 0, 0]])
    check(by_hand(padding, "flash_attention_2"), allowed=padding.bool()[:, None, None].expand(-1, -1, 6, -1))
    query, key = torch.arange(6)[:, None], torch.arange(6)
    window = (query - key < 3) & (key - query < 3)
    check(by_hand(None, "flash_attention_2", sliding_window=3), allowed=window)
    check(by_hand((window & (key <= query))[None, None]), allowed=window & (key <= query))


@pytest.mark.parametrize("size", SIZES)
def test_causal_flash_with_a_cache_and_a_window(size: int) -> None:
    call = by_hand(None, "flash_attention_2", queries=4, sliding_window=3)
    call.block = block(4, 4, causal=True)
    query, key = torch.arange(4)[:, None] + 2, torch.arange(6)
    expected = softmax_map(call, (key <= query) & (query - key < 3))
    check_reductions(lambda classes: BlockedView(AttentionView(call, classes), size), expected)


@pytest.mark.parametrize("size", SIZES)
def test_sinks(size: int) -> None:
    sinks = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)
    call = by_hand(s_aux=sinks)
    whole, blocked = AttentionView(call), BlockedView(AttentionView(call), size)
    close(blocked.total / blocked.total, torch.ones(2, 4, 6))
    close(blocked.mass_on(torch.ones(2, 1, 6)), whole.map.sum(-1))
    assert float(whole.map.sum(-1).max()) < 1
    for name in ("largest", "column_of_largest"):
        close(getattr(blocked, name), getattr(whole, name))
    close(blocked.entropy(), whole.entropy())


@pytest.mark.parametrize("size", SIZES)
def test_under_an_edit_the_changed_map_is_seen(size: int) -> None:
    call = by_hand()
    changes = (lambda weights, part: weights.flip(-1),)
    whole = AttentionView(call, None, changes)
    check_reductions(lambda classes: BlockedView(AttentionView(call, classes, changes), size), whole.map)


@pytest.mark.parametrize("name", ["bert", "modernbert", "deberta-v2", "gpt2", "llama", "mistral", "t5", "bart"])
@pytest.mark.parametrize("padding", ["right", "left"])
def test_layers_of_models(name: str, padding: str) -> None:
    case = BY_NAME[name]
    model, batch = exact(name, case.kernels[0]), inputs(case, padding)
    seen = []

    def look(run: LayerRun) -> None:
        whole = run.attention()
        rows = whole.map.sum(-1) > 0  # padding may attend to nothing
        for size in (2, 5):
            blocked = BlockedView(run.attention(), size)
            for operation in ("entropy", "distance"):
                found, expected = (getattr(one, operation)() for one in (blocked, whole))
                close(torch.where(rows, found, 0), torch.where(rows, expected, 0), 1e-5)
            close(blocked.received(torch.ones(whole.map.shape[0], whole.map.shape[2])), whole.map.sum(2), 1e-6)
        seen.append(run.layer_key)

    observers = {one.layer_key: look for one in read_anatomy(model)}
    with torch.no_grad(), session(model, observers=observers, purpose="test"):
        model(**batch)
    assert len(seen) == len(observers)


def test_questions_are_asked_twice_and_answered_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []

    class Counted(BlockPass):
        def run(self) -> None:
            passes.append(len(self.steps))
            super().run()

    monkeypatch.setattr(module, "BlockPass", Counted)
    call = by_hand()
    expected, view = softmax_map(call), BlockedView(AttentionView(call), 4)
    chosen = torch.rand(2, 4, 6)
    with view.asking() as asked:
        assert not asked()
        assert not view.mass_on(chosen).any()
        assert not view.entropy().any()
        assert view.row(3).shape == (2, 4, 6)
        assert view.entries(torch.tensor([0]), torch.tensor([1]), torch.tensor([2])).shape == (1, 4)
        assert asked()
    assert passes == []
    view.answer()
    assert passes == [4]
    close(view.mass_on(chosen.clone()), (expected * chosen[:, :, None]).sum(-1), 1e-6)
    close(view.row(3), expected[:, :, 3])
    close(view.entries(torch.tensor([0]), torch.tensor([1]), torch.tensor([2])), expected[0, :, 1, 2][None])
    assert passes == [4]
    close(view.mass_on(1 - chosen), (expected * (1 - chosen)[:, :, None]).sum(-1), 1e-6)
    assert passes == [4, 1], "what nobody asked for before gets a pass of its own"


def test_some_heads_are_looked_at_in_the_same_blocks() -> None:
    """So that half of the heads need half of the memory."""
    model, batch = exact("llama", "sdpa"), inputs(BY_NAME["llama"])

    def look(run: LayerRun) -> None:
        some = BlockedView(run.attention(), 4).of_heads([3, 1])
        assert isinstance(some, BlockedView)
        assert (some.size, some.chosen) == (4, [3, 1])
        close(some.largest, run.attention().map[:, [3, 1]].amax(-1), 1e-6)

    with torch.no_grad(), session(model, observers={("decoder", 1): look}, purpose="test"):
        model(**batch)
