"""Allowed keys for the masks of flash and flex kernels, which CI cannot run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.masks import allowed_counts, allowed_keys, reached_keys, seen_by_all
from tests.contracts.zoo import tiny

PADDING = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])


def call(name: str, implementation: str, mask: Any, queries: int = 5, **options: Any) -> AttentionCall:
    block = read_anatomy(tiny(name)).attention("decoder" if name == "mistral" else "encoder", 0)
    value = torch.randn(2, block.kv_heads, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return AttentionCall(block, implementation, value, mask, queries, options=options)


def test_flash_padding_and_window() -> None:
    allowed = allowed_keys(call("mistral", "flash_attention_2", PADDING, sliding_window=2))
    assert allowed is not None
    query, key = torch.arange(5)[:, None], torch.arange(5)
    expected = (key <= query) & (query - key < 2) & PADDING.bool()[:, None, None]
    assert torch.equal(allowed, expected)


def test_flash_with_a_cache_aligns_the_last_query_with_the_last_key() -> None:
    allowed = allowed_keys(call("mistral", "flash_attention_2", None, queries=1))
    assert allowed is None or bool(allowed.all())
    allowed = allowed_keys(call("mistral", "flash_attention_2", None, queries=2))
    assert allowed is not None
    assert allowed[0, 0].tolist() == [[True] * 4 + [False], [True] * 5]


def test_what_is_not_understood_raises() -> None:
    with pytest.raises(UnknownFamily, match="mask of type str"):
        allowed_keys(call("bert", "sdpa", "a mask"))


def flex_mask() -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < 3), None, None, 5, 5, device="cpu")


WINDOW = (torch.arange(5) <= torch.arange(5)[:, None]) & (torch.arange(5)[:, None] - torch.arange(5) < 3)
MASKS = {
    "sdpa": lambda: call("mistral", "sdpa", None),
    "flash": lambda: call("mistral", "flash_attention_2", PADDING, sliding_window=2),
    "flash with a cache": lambda: call("mistral", "flash_attention_2", None, queries=3, sliding_window=2),
    "bidirectional": lambda: call("bert", "flash_attention_2", PADDING, sliding_window=2),
    "flex": lambda: call("mistral", "flex_attention", flex_mask()),
    "bool": lambda: call("mistral", "sdpa", WINDOW[None, None]),
    "float": lambda: call("mistral", "eager", torch.zeros(2, 1, 5, 5).masked_fill(~WINDOW, float("-inf"))),
}


@pytest.mark.parametrize("name", MASKS)
def test_parts_of_the_queries_have_their_part_of_the_mask(name: str) -> None:
    one = MASKS[name]()
    whole = allowed_keys(one)
    assert whole is not None
    assert torch.equal(allowed_counts(one).expand(*whole.shape[:3]), whole.sum(-1).clamp(min=1).float())
    for start in range(one.queries):
        for stop in range(start + 1, one.queries + 1):
            first, last = reached_keys(one, start, stop)
            assert not whole[:, :, start:stop, :first].any()
            assert not whole[:, :, start:stop, last:].any()
            part = one.of_queries(slice(start, stop), first, last)
            assert torch.equal(allowed_keys(part), whole[:, :, start:stop, first:last])  # type: ignore[arg-type]
            assert whole[:, :, start:stop, first : first + seen_by_all(part)].all()
    some = torch.tensor([0, one.queries - 1])
    assert torch.equal(allowed_keys(one.of_queries(some)), whole[:, :, some])  # type: ignore[arg-type]


def test_only_the_keys_that_may_be_seen_are_reached() -> None:
    assert reached_keys(call("mistral", "sdpa", None), 1, 3) == (0, 3)
    assert reached_keys(call("bert", "sdpa", None), 1, 3) == (0, 5)
    assert reached_keys(MASKS["bool"](), 3, 4) == (1, 4)
    assert reached_keys(MASKS["flash"](), 3, 4) == (2, 4)
    assert seen_by_all(call("mistral", "sdpa", None).of_queries(slice(2, 4))) == 3
