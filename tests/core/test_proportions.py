"""Changes in accuracy: McNemar's test is scipy's, Tango's interval is its definition and covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headcount.core.proportions import (
    _score,
    count_changes,
    least_in_population,
    mcnemar,
    most_in_population,
    tango_interval,
)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 30))
def test_mcnemar_is_scipys_binomial_test(lost: int, won: int, same: int) -> None:
    base = np.array([True] * lost + [False] * won + [True] * same, dtype=bool)
    other = np.array([False] * lost + [True] * won + [True] * same, dtype=bool)
    expected = stats.binomtest(lost, lost + won, 0.5).pvalue if lost + won else 1.0
    assert mcnemar(base, other[None])[0] == pytest.approx(expected)
    assert [int(count[0]) for count in count_changes(base, other[None])] == [lost, won]


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 60))
def test_tango_is_where_the_score_is_z(lost: int, won: int, same: int) -> None:
    n = lost + won + same
    low, high = tango_interval(np.array([lost]), np.array([won]), n, 0.95)
    assert -1 <= low[0] <= (won - lost) / n <= high[0] <= 1
    for end, sign in ((low, 1), (high, -1)):
        if -1 + 1e-9 < end[0] < 1 - 1e-9:
            assert float(_score(np.array([lost]), np.array([won]), n, end)[0]) == pytest.approx(
                sign * stats.norm.ppf(0.975), abs=1e-6
            )


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_score_of_no_change_is_mcnemars(lost: int, won: int) -> None:
    found = float(_score(np.array([lost]), np.array([won]), 100, np.zeros(1))[0])
    assert found == pytest.approx((won - lost) / np.sqrt(lost + won) if lost + won else 0.0)


def test_nothing_changed_is_no_proof() -> None:
    """A bootstrap would say [0, 0]."""
    for n in (30, 300):
        low, high = tango_interval(np.zeros(1), np.zeros(1), n, 0.95)
        assert -low[0] == pytest.approx(high[0]) == pytest.approx(1.96**2 / (n + 1.96**2), rel=1e-3)


@pytest.mark.parametrize(("lost", "won"), [(0.02, 0.02), (0.08, 0.03), (0.01, 0.0)])
def test_tango_covers(lost: float, won: float) -> None:
    generator = np.random.default_rng(0)
    counts = generator.multinomial(80, [lost, won, 1 - lost - won], 4000)
    low, high = tango_interval(counts[:, 0], counts[:, 1], 80, 0.95)
    covered = ((low <= won - lost) & (won - lost <= high)).mean()
    assert covered > 0.93
    low, high = tango_interval(counts[:, 0], counts[:, 1], 80, 0.90)
    assert (low <= won - lost).mean() > 0.93, "a one-sided bound of 95 %"


@given(st.integers(1, 40), st.integers(0, 40), st.data())
def test_bounds_of_a_population_are_their_definition(drawn: int, rest: int, data: st.DataObject) -> None:
    """By brute force: the numbers under which so few, or so many, hits have a chance of 5 % or more."""
    hits, population = data.draw(st.integers(0, drawn)), drawn + rest
    possible = np.arange(population + 1)
    few = stats.hypergeom.cdf(hits, population, possible, drawn) >= 0.05 - 1e-12
    many = stats.hypergeom.sf(hits - 1, population, possible, drawn) >= 0.05 - 1e-12
    assert most_in_population(np.array(hits), drawn, population, 0.95) == possible[few].max()
    assert least_in_population(np.array([hits]), drawn, population, 0.95)[0] == possible[many].min()
