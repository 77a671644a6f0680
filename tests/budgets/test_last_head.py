"""Does a head stay whatever the budget, and is the set that keeps it the best of those that do?"""

from __future__ import annotations

from itertools import product

import pytest

from headcount.budgets.blocks import read_blocks
from headcount.budgets.last_head import with_a_head
from headcount.budgets.part_sets import losses_of
from headcount.budgets.planner import Planner
from tests.budgets import planted


def test_one_of_the_attention_blocks_keeps_a_head() -> None:
    model = planted.anatomy()
    ways = with_a_head(read_blocks(model, "both", planted.costs(model)))
    assert [[block.options[0] for block in way] for way in ways] == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert [way[number].costs.tolist() for number, way in enumerate(ways)] == [[3, 6, 9, 12]] * 2


def test_nothing_to_do_where_a_head_stays_anyway() -> None:
    model = planted.anatomy()
    for what, at_least in (("units", 0), ("both", 1), ("heads", 2)):
        blocks = read_blocks(model, what, planted.costs(model), at_least=at_least)
        assert with_a_head(blocks) == [blocks]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_sets_that_leave_a_head(seed: int) -> None:
    """Heads cost much and are worth little, so that all of them would go: against all combinations of numbers."""
    model = planted.anatomy(3)
    costs, scores = planted.costs(model, head=3.0, unit=1.0), planted.scores(model, seed)
    scores |= {key: values / 10 for key, values in scores.items() if not key[0].endswith("units")}
    planner = Planner(model, "operations", scores, None, costs, fixed=2.0)
    blocks = planner.blocks("both")
    left = (2 + 3 + 2) / planner.whole  # room for one head and two units, or for five units
    best = min(
        sum(losses_of(scores[block.key], block)[count] for block, count in zip(blocks, counts, strict=True))
        for counts in product(*(range(len(block.options)) for block in blocks))
        if sum(block.costs[count] for block, count in zip(blocks, counts, strict=True)) <= 5 and any(counts[:2])
    )
    removed = planner.best("both", left)
    assert len(removed.heads) == 7
    lost = sum(scores["encoder", head.layer][head.head] for head in removed.heads)
    lost += sum(
        scores[f"{stack}.units", layer][unit]
        for (stack, layer), units in removed.units.by_layer().items()
        for unit in units
    )
    assert lost == pytest.approx(best)


def test_random_sets_leave_a_head_too() -> None:
    model = planted.anatomy(3)
    planner = Planner(model, "operations", planted.scores(model), None, planted.costs(model), fixed=2.0)
    assert planner.least("both") == pytest.approx((2 + 3) / planner.whole)
    assert planner.least("heads") == pytest.approx((2 + 6 + 3) / planner.whole)
    layers = set()
    for seed in range(20):
        removed = planner.random("heads", planner.least("heads") + 1e-6, seed)
        assert len(removed.heads) == 7
        (kept,) = set(model.layout) - set(removed.heads)
        layers.add(kept.layer)
    assert layers == {0, 1}
