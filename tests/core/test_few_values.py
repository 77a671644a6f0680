"""Intervals from few values: they cover the truth as often as they say, and say so if there is no interval."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headcount.core.few_values import ratio_interval, t_interval


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.random.default_rng(0).normal(0.6, 0.1, 5)
    expected = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert t_interval(values) == pytest.approx(expected)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_values(count: int) -> None:
    values = np.linspace(0.5, 0.6, count)
    assert np.isnan(t_interval(values)).all()
    assert np.isnan(ratio_interval(values, values + 1)).all()


def test_the_ends_of_a_ratio_are_where_the_test_turns() -> None:
    """At either end, top - ratio * bottom is just significant at 5 %."""
    generator = np.random.default_rng(1)
    top, bottom = generator.normal(0.1, 0.02, 5), generator.normal(0.2, 0.02, 5)
    for end in ratio_interval(top, bottom):
        assert stats.ttest_1samp(top - end * bottom, 0).pvalue == pytest.approx(0.05)
    low, high = ratio_interval(top, bottom)
    assert low < top.mean() / bottom.mean() < high


def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says() -> None:
    generator = np.random.default_rng(2)
    covered = []
    for _ in range(2000):
        shared = generator.normal(0, 0.02, 4)
        low, high = ratio_interval(0.12 + shared + generator.normal(0, 0.02, 4), 0.2 + shared)
        covered.append(low <= 0.6 <= high)
    assert 0.93 < np.mean(covered) < 0.97


def test_a_ratio_to_what_may_be_nothing_has_no_bounds() -> None:
    assert np.isnan(ratio_interval(np.array([0.1, 0.1, 0.1]), np.array([-0.1, 0.2, 0.0]))).all()


def test_values_without_spread() -> None:
    assert ratio_interval(np.full(3, 0.5), np.full(3, 0.5)) == pytest.approx((1, 1))
