"""How a long map is divided: within the memory that is stated, and every query once."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.trace import blocks as module
from headcount.trace.blocks import blocks, bytes_of_query, is_long, queries_of_block
from tests.trace.test_view import by_hand


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.booleans())
def test_every_query_is_in_one_block_with_the_keys_it_may_attend_to(size: int, causal: bool) -> None:
    mask = torch.ones(6, 6, dtype=torch.bool).tril()[None, None] if causal else None
    made = list(blocks(by_hand(mask), size))
    assert [query for one in made for query in range(one.start, one.stop)] == list(range(6))
    assert all(one.stop - one.start <= size for one in made)
    assert [(one.first_key, one.last_key) for one in made] == [(0, one.stop if causal else 6) for one in made]
    assert all(one.last_key == 6 for one in blocks(by_hand(mask), size, every_key=True))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 70))
def test_queries_that_see_few_keys_are_more_at_a_time(size: int) -> None:
    call = by_hand()
    call.value, call.queries = torch.zeros(2, 4, 64, 8), 64
    call.block.module.is_causal = True
    made = list(blocks(call, size))
    assert [query for one in made for query in range(one.start, one.stop)] == list(range(64))
    assert all((one.stop - one.start) * one.last_key <= max(size, 1) * 64 for one in made)
    assert size > 8 or len(made) < -(-64 // size)


def test_a_block_keeps_to_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    call = by_hand()
    assert bytes_of_query(call) == 2 * 4 * 6 * 8
    assert not is_long(call)
    monkeypatch.setattr(module, "CPU_BLOCK", 6 * 384 - 1)
    assert is_long(call)
    assert queries_of_block(call) == 5
    monkeypatch.setattr(module, "CPU_CACHED", 2 * 384)
    monkeypatch.setattr(module, "CPU_QUERIES", 1)
    assert queries_of_block(call) == 2
    monkeypatch.setattr(module, "CPU_BLOCK", 1)
    assert queries_of_block(call) == 1
