"""The plan of a sweep over pairs, without a model: what is shared, and how many layers are run."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from headcount.ablation.choices import Choices, Pairs, choose_head_sets
from headcount.ablation.plan import SweepPlan, plan_sweep, widest_group
from headcount.core.heads import Layout

BERT = Layout.even({"encoder": (12, 12)})


def plan(choices: Choices, width: int = 8, replay: bool = True) -> SweepPlan:
    return plan_sweep(choices, np.array([5, 4, 3]), 10, width, [(0, 3)], replay)


def test_every_choice_runs_once_and_starts_where_it_may() -> None:
    choices = choose_head_sets(BERT, Pairs("L0H1, L0H5, L3H2, L3H7, L8H1, L11H0"))
    planned = plan(choices)
    starts = {number: start for start, numbers in planned.passes for number in numbers}
    for group in planned.nested:
        recorded = [number for _, numbers in group.firsts for number in numbers]
        assert len(recorded) <= 8
        starts |= {number: start for start, numbers in group.firsts for number in numbers}
        for start, pairs in group.passes:
            assert len(pairs) <= 8
            for number, first in pairs:
                assert first in recorded
                assert choices.sets[first].heads < choices.sets[number].heads
                assert number not in starts
                starts[number] = start
    assert sorted(starts) == list(range(len(choices.sets)))
    for number, heads in enumerate(choices.sets):
        assert starts[number] == max(head.layer for head in heads), "a pair starts at the layer of its second head"


def test_the_layers_that_are_run() -> None:
    """Each pair runs from its second head's layer on, not from that of its first: half of the layers."""
    generator = np.random.default_rng(0)
    heads = [list(BERT)[number] for number in sorted(generator.choice(144, 20, replace=False))]
    choices = choose_head_sets(BERT, Pairs(heads))
    alone = sum(12 - head.layer for head in heads)
    second = sum(12 - max(a.layer, b.layer) for a, b in combinations(heads, 2))
    first = sum(12 - min(a.layer, b.layer) for a, b in combinations(heads, 2))
    assert plan(choices).layers_run(12) == alone + second
    assert plan(choices, replay=False).layers_run(12) == 12 * len(choices.sets)
    assert (alone + second, alone + first) == (885, 1719), "as in docs/benchmarks.md"


def test_a_narrower_plan_runs_the_same() -> None:
    choices = choose_head_sets(BERT, Pairs("L0, L5H1, L7H1-3"))
    whole = plan(choices, 100)
    narrow = whole.narrowed(3)
    assert narrow.widest == 3
    assert whole.widest > 3
    assert all(sum(len(numbers) for _, numbers in group.firsts) <= 3 for group in narrow.nested)
    assert narrow.layers_run(12) == whole.layers_run(12)
    assert narrow.pass_count > whole.pass_count
    assert narrow == plan(choices, 3), "whether memory was short or not"


def test_the_widest_group_counts_pairs_at_their_second_layer() -> None:
    # At layer 5: one head alone, and with each of the twelve heads of layer 0.
    assert widest_group(choose_head_sets(BERT, Pairs("L0, L5H1"))) == 12 + 66
    assert widest_group(choose_head_sets(BERT, Pairs("L0H0-1, L5H1-3"))) == 3 + 3 + 6
