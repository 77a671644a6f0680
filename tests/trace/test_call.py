"""Whose keys and values a head reads, and the call as some heads alone had it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from headcount.models.anatomy import read_anatomy
from headcount.trace.call import AttentionCall
from tests.contracts.zoo import tiny


def made(groups: int, mask: Any = None, **options: Any) -> AttentionCall:
    """A call of a layer with four heads."""
    layer = read_anatomy(tiny("bert")).attention("encoder", 1)
    generator = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn(2, heads, 5, 16, generator=generator) for heads in (4, groups, groups))
    return AttentionCall(layer, "sdpa", value, mask, 5, query, key, None, options)


@pytest.mark.parametrize(("groups", "reads"), [(4, [0, 1, 2, 3]), (2, [0, 0, 1, 1]), (1, [0, 0, 0, 0])])
def test_heads_of_a_group_read_the_same_keys_and_values(groups: int, reads: list[int]) -> None:
    call = made(groups)
    assert call.layer_key == ("encoder", 1)
    assert call.reads == reads
    assert torch.equal(call.by_head(call.value), call.value[:, reads])
    assert (call.by_head(call.value) is call.value) == (groups == 4), "a copy that nobody needs"


def test_the_scale_is_that_of_the_kernel() -> None:
    assert made(4).scale == 0.25
    assert made(4, scaling=None).scale == 0.25
    assert made(4, scaling=0.7).scale == 0.7


def test_some_heads_alone() -> None:
    by_head, shared = torch.rand(2, 4, 5, 5), torch.rand(2, 1, 5, 5)
    call = made(2, by_head, position_bias=shared, s_aux=torch.arange(4.0), dropout=0.0)
    some = call.of_heads([3, 0])
    assert some is not None
    assert some.block.heads == (3, 0)
    assert some.reads == [0, 1]
    assert torch.equal(some.mask, by_head[:, [3, 0]])
    assert torch.equal(some.by_head(some.value), call.value[:, [1, 0]])
    assert some.options["position_bias"] is shared
    assert some.sinks is not None
    assert some.sinks.tolist() == [3, 0]
    assert call.sinks is not None
    assert len(call.sinks) == 4


def test_a_mask_that_cannot_be_taken_apart() -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    by_head = create_block_mask(lambda b, h, q, k: q >= k + h, 2, 4, 5, 5, device="cpu")
    assert made(4, by_head).of_heads([1]) is None
    shared = create_block_mask(lambda b, h, q, k: q >= k, 2, None, 5, 5, device="cpu")
    assert made(4, shared).of_heads([1]) is not None


@pytest.mark.parametrize("chosen", [slice(1, 4), torch.tensor([0, 3])])
def test_some_queries_alone(chosen: Any) -> None:
    by_query, for_all = torch.rand(2, 4, 5, 5), torch.rand(2, 1, 1, 5)
    part = made(2, by_query, position_bias=torch.cat((by_query, by_query), -1)).of_queries(chosen, 1, 4)
    assert part.queries == len(torch.arange(5)[chosen])
    assert torch.equal(part.mask, by_query[:, :, chosen, 1:4])
    assert torch.equal(part.options["position_bias"], by_query[:, :, chosen, 1:4])
    assert part.query is not None
    assert part.query.shape[2] == part.queries
    assert part.value.shape[2] == 3
    assert part.part is not None
    assert part.part.positions.tolist() == torch.arange(5)[chosen].tolist()
    assert torch.equal(made(2, for_all).of_queries(chosen).mask, for_all)
    padding = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 1, 1]])
    assert torch.equal(made(2, padding).of_queries(chosen, 1, 4).mask, padding[:, 2:5])
