"""Sets of heads: the first ones of an order, and random ones of the same layers that share none with them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headcount.ablation.matched_sets import draw_alike, plan_sets
from headcount.core.heads import HeadSet, Layout


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


@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 99), st.data())
def test_random_sets_for_a_set_of_any_size(layers: int, heads: int, seed: int, data: st.DataObject) -> None:
    layout = Layout.even({"encoder": (layers, heads), "cross": (layers, heads)})
    some = HeadSet.of(data.draw(st.lists(st.sampled_from(list(layout)), min_size=1, unique=True)), layout)
    drawn = draw_alike(some, layout, 3, seed)
    assert len(drawn) == 3
    for each in drawn:
        assert sorted((head.stack, head.layer) for head in each) == sorted((head.stack, head.layer) for head in some)
    assert drawn == draw_alike(some, layout, 3, seed)
