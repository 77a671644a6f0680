"""The plan of a sweep, without a model."""

from __future__ import annotations

import numpy as np

from headcount.ablation.choices import choose_head_sets
from headcount.ablation.plan import plan_sweep, plan_units, widest_group
from headcount.core.heads import Layout

MARIAN = Layout.even({"encoder": (6, 8), "decoder": (6, 8), "cross": (6, 8)})


def test_every_variant_starts_at_its_layer() -> None:
    lengths = np.sort(np.random.default_rng(0).integers(5, 60, 100))[::-1]
    choices = choose_head_sets(MARIAN)
    plan = plan_sweep(choices, lengths, 128, 5, plan_units(lengths, 128))
    assert sorted(number for _, numbers in plan.passes for number in numbers) == list(range(144))
    for start, numbers in plan.passes:
        assert len(numbers) <= 5
        for number in numbers:
            head = choices.keys[number]
            assert start == head.layer + (0 if head.stack == "encoder" else 6)
    assert [row for a, b in plan.batches for row in range(a, b)] == list(range(100))
    assert all(any(start <= a and b <= stop for start, stop in plan.units) for a, b in plan.batches)
    assert widest_group(choices) == 16


def test_units_are_alike() -> None:
    units = plan_units(np.full(1000, 10), 100)
    assert len(units) <= 64
    assert len({stop - start for start, stop in units[:-1]}) == 1
    assert len(plan_units(np.full(3, 10), 10_000)) == 1


def test_a_layer_with_one_head_is_unchanged_by_all_but_one() -> None:
    choices = choose_head_sets(Layout({"encoder": ((0,), (0, 1))}), "all-but-one")
    plan = plan_sweep(choices, np.array([3]), 10, 4, [(0, 1)])
    assert plan.unchanged == (0,)
