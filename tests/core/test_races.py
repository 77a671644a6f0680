"""Races: the error rate is held over many streams, intervals end at the truth, rounds cover all examples once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.races import (
    DECISIONS,
    ERROR,
    UNDECIDED,
    WITHIN,
    accuracy_bounds,
    decide,
    mean_bounds,
    plan_looks,
    round_order,
    share_of_error,
)

STREAMS = 1000
Bounds = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]


@given(st.integers(1, 30_000))
def test_looks_grow_to_all_examples(examples: int) -> None:
    unit, ends = plan_looks(examples)
    assert (ends[-1] - 1) * unit < examples <= ends[-1] * unit
    assert ends == sorted(set(ends))
    assert len(ends) <= 12
    assert all(later <= 2 * earlier + 1 for earlier, later in pairwise(ends[1:]))
    assert share_of_error(len(ends)) * max(1, len(ends) - 1) == pytest.approx(ERROR)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(0, 5))
def test_rounds_hold_every_example_once_and_go_from_long_to_short(lengths: list[int], seed: int) -> None:
    ends = sorted({max(1, len(lengths) // 3), len(lengths)})
    order = round_order(np.array(lengths), ends, seed)
    assert sorted(order) == list(range(len(lengths)))
    for start, end in zip((0, *ends), ends, strict=False):
        assert (np.diff(np.array(lengths)[order[start:end]]) <= 0).all()


def test_a_round_is_a_random_sample() -> None:
    """Of any lengths: the first of two rounds has each example equally often."""
    lengths = np.arange(1, 41)
    counts = np.zeros(40)
    for seed in range(800):
        counts[round_order(lengths, [10, 40], seed)[:10]] += 1
    assert abs(counts - 200).max() < 5 * np.sqrt(800 * 0.25 * 0.75)


def run_streams(population: int, margin: float, truth: float, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """Many races over the same examples in other orders: their decisions, and whether any interval missed the truth."""
    generator = np.random.default_rng(1)
    orders = np.stack([generator.permutation(population) for _ in range(STREAMS)])
    unit, ends = plan_looks(population)
    running, missed = np.arange(STREAMS), np.zeros(STREAMS, dtype=bool)
    decisions = np.full(STREAMS, UNDECIDED)
    for end in ends:
        low, high = bounds(orders[running, : end * unit], share_of_error(len(ends)))
        missed[running] |= (truth < low - 1e-12) | (truth > high + 1e-12)
        decisions[running] = decide(low, high, margin)
        running = running[decisions[running] == UNDECIDED]
    assert not len(running), "all examples decide"
    return decisions, missed


@pytest.mark.parametrize(("lost", "won"), [(24, 0), (20, 6), (2, 15), (60, 45)])
def test_accuracy_holds_its_error_next_to_the_margin(lost: int, won: int) -> None:
    """A change just beyond the margin, where a wrong "within" is easiest."""
    change = np.array([-1] * lost + [1] * won + [0] * (400 - lost - won))

    def bounds(seen: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
        counts = ((change[seen] == sign).sum(1) for sign in (-1, 1))
        return accuracy_bounds(*counts, seen.shape[1], 400, error)

    decisions, missed = run_streams(400, abs(won - lost) / 400 - 0.001, (won - lost) / 400, bounds)
    assert np.mean(decisions == WITHIN) <= ERROR
    assert np.mean(missed) <= ERROR


SHAPES = {
    "skewed": lambda generator, n: generator.lognormal(0, 1, n),
    "few large": lambda generator, n: np.where(generator.random(n) < 0.1, generator.normal(3, 2, n), 0.05),
}


@pytest.mark.parametrize(("shape", "sign"), [("skewed", 1), ("few large", -1)])
def test_a_mean_holds_its_error_next_to_the_margin(shape: str, sign: int) -> None:
    """Changes of losses, skewed or of few examples; all streams at once, as variants of one race."""
    values = sign * SHAPES[shape](np.random.default_rng(1), 300)
    truth = float(values.mean())

    def bounds(seen: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
        return mean_bounds(values[seen], np.ones(seen.shape[1]), 300, error)

    decisions, missed = run_streams(300, abs(truth) - 0.02 * values.std(), truth, bounds)
    assert np.mean(decisions == WITHIN) <= ERROR
    assert np.mean(missed) <= ERROR


def test_clear_cases_are_settled_at_the_first_look() -> None:
    generator = np.random.default_rng(0)
    values = np.stack([np.zeros(64), generator.normal(0, 0.01, 64), generator.normal(1, 0.5, 64)])
    decisions = decide(*mean_bounds(values, np.ones(64), 2000, 0.005), 0.02)
    assert [DECISIONS[code] for code in decisions] == ["within", "within", "larger"]


def test_all_examples_give_the_change_itself() -> None:
    generator = np.random.default_rng(0)
    values, weights = generator.normal(size=(3, 50)), generator.integers(1, 9, 50).astype(float)
    low, high = mean_bounds(values, weights, 50, 0.01)
    np.testing.assert_allclose(low, values.sum(1) / weights.sum())
    np.testing.assert_allclose(low, high)
    low, high = accuracy_bounds(np.array([5, 0]), np.array([2, 3]), 50, 50, 0.01)
    assert low.tolist() == high.tolist() == [-3 / 50, 3 / 50]
