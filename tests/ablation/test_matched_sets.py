"""Sets of heads: the first ones of an order, and random ones of the same layers that share none with them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headcount.ablation.matched_sets import plan_sets
from headcount.core.heads import Layout


@given(st.integers(1, 4), st.integers(2, 6), st.integers(0, 99))
def test_random_heads_of_the_same_layers(layers: int, heads: int, seed: int) -> None:
    layout = Layout.even({"encoder": (layers, heads)})
    order = [list(layout)[number] for number in np.random.default_rng(seed).permutation(layout.count)]
    counts = [count for count in (1, 2, 4) if count <= layout.count // 2]
    chosen, drawn = plan_sets(order, layout, counts, 3, seed)
    assert [set(each) for each in chosen] == [set(order[:count]) for count in counts]
    assert len(drawn) == 3 * len(counts)
    for number, each in enumerate(drawn):
        beside = chosen[number // 3]
        assert len(each) == len(beside)
        assert not set(each) & set(beside)
    if len(counts) and heads > 1:
        assert {head.layer for head in drawn[0]} == {order[0].layer}
