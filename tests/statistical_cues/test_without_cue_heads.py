"""Sets of heads: the first ones of an order, and random ones of the same layers that share none with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.heads import Layout
from headcount.statistical_cues.head_effects import Parts
from headcount.statistical_cues.without_cue_heads import compare_sets, plan_sets


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


def test_what_the_sets_do() -> None:
    """Changes that only the chosen set makes, where cues are right."""
    layout = Layout.even({"encoder": (1, 4)})
    parts = Parts.of(np.arange(40) % 2)
    baseline = np.where(parts.right, 3.0, 1.0)
    chosen, drawn = plan_sets(list(layout), layout, [1], 2, 0)
    odds = np.stack([baseline - 2.0 * parts.right, baseline, baseline - 0.5 * parts.right])
    right = np.ones((3, 40), dtype=bool)
    right[0, :4] = False
    found = compare_sets(chosen, [1], baseline, odds, np.ones(40, dtype=bool), right, parts, 0)
    assert found["reliance_change"][1].tolist() == [-2]
    assert found["reliance_after"][1].tolist() == [0]
    assert found["random_reliance_change"][1].tolist() == [-0.25]
    assert found["reliance_gain"][1].tolist() == [-1.75]
    assert found["evidence_change"][1].tolist() == [-1]
    assert found["accuracy_change"][1] == pytest.approx([-0.1])
    assert found["random_accuracy_change"][1].tolist() == [0]
    assert len(drawn) == 2
