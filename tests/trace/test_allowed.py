"""Allowed keys for the masks of flash and flex kernels, which CI cannot run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.trace.allowed import allowed_keys, attention_weights, uniform_outputs, uniform_weights
from headcount.trace.attention import AttentionCall
from tests.closeness import assert_same
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


def test_flash_encoder_means_over_padding() -> None:
    one = call("bert", "flash_attention_2", PADDING)
    means = uniform_outputs(one, [1])
    assert_same(means[1, 0, 0], one.value[1, 1, 2:].mean(0))
    assert_same(uniform_weights(one)[1, 0, 3], [0, 0, 1 / 3, 1 / 3, 1 / 3])


def test_a_flex_mask_is_read_through_its_function() -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    mask = create_block_mask(lambda b, h, q, k: q >= k, 2, 4, 5, 5, device="cpu")
    one = call("mistral", "flex_attention", mask)
    means = uniform_outputs(one, [3])
    assert_same(means[0, 2, 0], one.value[0, 1, :3].mean(0))


def test_a_static_cache_stops_at_the_queries() -> None:
    one = call("mistral", "sdpa", None, queries=3)
    assert_same(uniform_outputs(one, [0])[0, 2, 0], one.value[0, 0, :3].mean(0))


def test_what_is_not_understood_raises() -> None:
    with pytest.raises(UnknownFamily, match="mask of type str"):
        allowed_keys(call("bert", "sdpa", "a mask"))
    one = call("bert", "sdpa", None, s_aux=torch.zeros(4))
    with pytest.raises(UnknownFamily, match="s_aux"):
        attention_weights(replace(one, query=one.value, key=one.value))
