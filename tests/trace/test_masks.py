"""Allowed keys for the masks of flash and flex kernels, which CI cannot run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from headcount.trace.masks import allowed_keys
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
