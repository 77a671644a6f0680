"""Changes of a mean: calibrated where differences are symmetric, skewed or heavy-tailed, and alike in any unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headcount.core.mean_changes import mean_changes, signed_rank

SHAPES = {
    "normal": lambda generator, size: generator.normal(size=size),
    "heavy-tailed (t3)": lambda generator, size: generator.standard_t(3, size),
    "skewed (exponential)": lambda generator, size: generator.exponential(1, size) - 1,
    "skewed and heavy-tailed (lognormal)": lambda generator, size: generator.lognormal(0, 1.3, size) - np.exp(0.845),
    "the same, the other way": lambda generator, size: np.exp(0.845) - generator.lognormal(0, 1.3, size),
    "a scale of its own for each example": lambda generator, size: (
        generator.lognormal(-2, 1.2, size) * (generator.exponential(1, size) - 1)
    ),
}
"""Differences of losses without any effect: their mean is zero. The permutation test that was used here before finds
an effect in 14 % of the lognormal samples of 60."""


@pytest.mark.parametrize("examples", [60, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_calibrated_where_there_is_no_effect(shape: str, examples: int) -> None:
    generator = np.random.default_rng(examples)
    found = mean_changes(SHAPES[shape](generator, (800, examples)), np.ones(examples))
    assert (found.p < 0.05).mean() < 0.06
    assert ((found.low <= 0) & (found.high >= 0)).mean() > (0.90 if "lognormal" in shape and examples < 100 else 0.925)
    assert (found.bound_low <= 0).mean() > (0.88 if "the other way" in shape else 0.92)


def test_finds_what_is_there() -> None:
    generator = np.random.default_rng(0)
    found = mean_changes(generator.normal(0.5, 1, (400, 60)), generator.integers(5, 20, 60).astype(float))
    assert (found.p < 0.05).mean() > 0.75


def test_a_sweep_without_effects_is_rarely_significant() -> None:
    """Corrected for 144 heads; skewed differences of 300 examples."""
    from headcount.core.statistics import false_discovery

    generator = np.random.default_rng(1)
    sweeps = [
        mean_changes(SHAPES["skewed and heavy-tailed (lognormal)"](generator, (144, 300)), np.ones(300), seed)
        for seed in range(10)
    ]
    assert sum(bool((false_discovery(one.p) < 0.05).any()) for one in sweeps) <= 1


def test_one_head_that_stands_alone_can_be_significant() -> None:
    """q < 0.05 among 144 needs p of 0.0003: the second pass of resamples gives it."""
    from headcount.core.statistics import false_discovery

    generator = np.random.default_rng(2)
    changes = generator.normal(0, 1, (144, 200))
    changes[7] += 1
    q = false_discovery(mean_changes(changes, np.ones(200)).p)
    assert np.flatnonzero(q < 0.05).tolist() == [7]


def test_the_change_is_that_of_sum_over_weight() -> None:
    generator = np.random.default_rng(0)
    changes, tokens = generator.normal(size=(3, 40)), generator.integers(1, 30, 40).astype(float)
    found = mean_changes(changes, tokens)
    np.testing.assert_allclose(found.delta, changes.sum(1) / tokens.sum())
    assert (found.low <= found.bound_low).all()
    assert (found.bound_low <= found.delta).all()
    assert (found.delta <= found.bound_high).all()
    assert (found.bound_high <= found.high).all()


@settings(deadline=None, max_examples=20)
@given(st.floats(0.01, 1000), st.integers(2, 30))
def test_the_unit_does_not_matter(unit: float, examples: int) -> None:
    generator = np.random.default_rng(examples)
    changes, weights = generator.normal(0.2, 1, (4, examples)), generator.uniform(1, 5, examples)
    one, other = mean_changes(changes, weights), mean_changes(changes * unit, weights)
    np.testing.assert_allclose(one.low * unit, other.low, rtol=1e-6, atol=1e-9 * unit)
    np.testing.assert_allclose(one.p, other.p, atol=2 / 2000)
    flipped = mean_changes(-changes, weights)
    np.testing.assert_allclose(flipped.high, -one.low, rtol=1e-6, atol=1e-12)


def test_what_changes_nothing_is_sure_of_nothing() -> None:
    found = mean_changes(np.zeros((2, 30)), np.ones(30))
    assert found.p.tolist() == [1, 1]
    assert found.low.tolist() == found.high.tolist() == [0, 0]
    alone = mean_changes(np.ones((1, 1)), np.ones(1))
    assert alone.p[0] == 1
    assert np.isnan(alone.low[0])


def test_one_more_example_could_not_undo_it() -> None:
    """Twenty examples get slightly better; one that gets far worse would outweigh them: not significant."""
    changes = np.full((1, 40), -0.01)
    changes[0, :20] -= np.linspace(0, 0.02, 20)
    changes[0, 0] = 0.7
    assert mean_changes(changes, np.ones(40)).p[0] > 0.3


def test_signed_ranks_are_scipys() -> None:
    changes = np.random.default_rng(0).standard_t(2, (5, 50)) + 0.3
    expected = [stats.wilcoxon(row, method="approx", correction=False).pvalue for row in changes]
    np.testing.assert_allclose(signed_rank(changes), expected, rtol=1e-9)
    assert signed_rank(np.zeros((1, 9))).tolist() == [1]
