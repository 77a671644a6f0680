"""A view in blocks of queries gives what the whole map gives, whatever the size of the blocks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headcount.trace.blocked_view import BlockedView
from headcount.trace.call import AttentionCall
from headcount.trace.view import AttentionView
from tests.trace.test_view import calls, check_reductions


@settings(max_examples=40, deadline=None)
@given(calls(), st.integers(1, 10))
def test_any_block_size(made: tuple[AttentionCall, Tensor], size: int) -> None:
    call, expected = made
    check_reductions(lambda classes: BlockedView(AttentionView(call, classes), size), expected)
