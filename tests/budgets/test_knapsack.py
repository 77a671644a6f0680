"""Is the choice of options the best of all, is the budget kept, and what is said if it cannot be?"""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.budgets.knapsack import SAME, best_counts, least_cost
from headcount.errors import InvalidOption


@st.composite
def instances(draw: Any, whole: bool) -> tuple[list[np.ndarray], list[np.ndarray], float]:
    number = st.integers(0, 20).map(float) if whole else st.integers(0, 20_000_000).map(lambda cost: cost / 1e6)
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    losses = [np.array(draw(st.lists(st.floats(-5, 5), min_size=size, max_size=size))) for size in sizes]
    costs = [np.array(draw(st.lists(number, min_size=size, max_size=size))) for size in sizes]
    least, most = least_cost(costs), sum(float(one.max()) for one in costs)
    return losses, costs, least + draw(st.floats(0, 1)) * (most - least)


def totals(arrays: list[np.ndarray], choice: Any) -> float:
    return float(sum(array[option] for array, option in zip(arrays, choice, strict=True)))


def brute_force(losses: list[np.ndarray], costs: list[np.ndarray], budget: float) -> float:
    choices = product(*(range(len(one)) for one in losses))
    return min(totals(losses, choice) for choice in choices if totals(costs, choice) <= budget)


@given(instances(whole=True))
def test_whole_costs_give_the_best_of_all(instance: Any) -> None:
    losses, costs, budget = instance
    found = best_counts(losses, costs, budget)
    assert totals(costs, found) <= budget * (1 + SAME) + 1e-12
    assert totals(losses, found) == pytest.approx(brute_force(losses, costs, budget * (1 + SAME)), abs=1e-9)


@given(instances(whole=False))
def test_other_costs_give_the_best_of_a_budget_smaller_by_the_rounding(instance: Any) -> None:
    losses, costs, budget = instance
    found = best_counts(losses, costs, budget, grid=1000)
    assert totals(costs, found) <= budget * (1 + 2 * SAME) + 1e-9
    least = least_cost(costs)
    smaller = least + (budget - least) * (1 - len(costs) / 1000)
    assert totals(losses, found) <= brute_force(losses, costs, smaller) + 1e-9
    assert totals(losses, found) >= brute_force(losses, costs, budget * (1 + 2 * SAME) + 1e-9) - 1e-9


def test_the_ends() -> None:
    losses = [np.array([3.0, 1.0, 0.0])] * 5
    costs = [np.array([0.1, 0.7, 1 / 3])] * 5
    assert best_counts(losses, costs, sum(1 / 3 for _ in range(5))) == [2] * 5
    assert best_counts(losses, costs, 0.5) == [0] * 5
    assert best_counts(losses, costs, 1e9) == [2] * 5


def test_equal_losses_take_the_cheapest() -> None:
    """Parts that nothing depends on go, even if the budget has room for them."""
    assert best_counts([np.array([2.0, 0.0, 0.0])], [np.array([0.0, 4.0, 8.0])], 8) == [1]
    assert best_counts([np.array([0.0, 0.0])], [np.array([5.0, 4.0])], 9.5) == [1]


@pytest.mark.parametrize("budget", [0.99, -1, float("nan")])
def test_a_budget_that_cannot_be_kept_says_what_can(budget: float) -> None:
    costs = [np.array([0.25, 2.0]), np.array([0.75, 3.0])]
    with pytest.raises(InvalidOption, match="1 is the least that can be reached") as caught:
        best_counts([np.zeros(2)] * 2, costs, budget)
    assert "\n" not in str(caught.value)
    assert best_counts([np.array([1.0, 0])] * 2, costs, 1) == [0, 0]


def test_many_blocks_take_a_moment() -> None:
    generator = np.random.default_rng(0)
    costs = [np.cumsum(generator.random(50)) for _ in range(64)]
    losses = [np.cumsum(generator.random(50))[::-1] for _ in range(64)]
    start = time.process_time()
    found = best_counts(losses, costs, 0.5 * sum(float(one[-1]) for one in costs))
    assert time.process_time() - start < 2
    # A price for costs that is right for the budget bounds what any choice can reach (Lagrange).
    used = totals(costs, found)
    prices = np.linspace(0.1, 10, 200)
    bounds = [
        sum(float((one + price * cost).min()) for one, cost in zip(losses, costs, strict=True)) - price * used
        for price in prices
    ]
    assert max(bounds) <= totals(losses, found) <= max(bounds) * 1.02
