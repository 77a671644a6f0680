"""Statistics against scipy, against brute force, and on planted effects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headcount.core import statistics as hs
from headcount.core.score_tables import Sums
from headcount.data.kinds.metrics import ACCURACY, CLASS_LOSS


def table(right: np.ndarray) -> Sums:
    """Accuracies from right/wrong [1 + V, n]."""
    return Sums(np.stack([right, np.ones_like(right)], -1).astype(float), ACCURACY.combine, draws=4000)


def test_permutation_test_agrees_with_scipy() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(0.15, 1, 60)
    sums = Sums(
        np.stack([np.stack([np.zeros(60), np.ones(60)], -1), np.stack([x, np.ones(60)], -1)]),
        CLASS_LOSS.combine,
        draws=20_000,
    )
    ours = hs.permutation_test(sums)[0][0]
    theirs = stats.permutation_test(
        (x,),
        lambda v, axis: v.mean(axis),
        permutation_type="samples",
        n_resamples=20_000,
        random_state=1,
        vectorized=True,
    ).pvalue
    assert ours == pytest.approx(theirs, abs=0.02)


def test_permutation_p_values_are_uniform_where_nothing_differs() -> None:
    generator = np.random.default_rng(1)
    right = generator.random((201, 300)) < 0.8
    p = hs.permutation_test(table(right))[0]
    assert 0.02 < (p < 0.1).mean() < 0.2


def test_bootstrap_interval_covers_a_known_difference() -> None:
    generator = np.random.default_rng(2)
    covered = 0
    for trial in range(60):
        right = np.stack([generator.random(400) < 0.8, generator.random(400) < 0.7])
        scores = hs.bootstrap(table(right), draws=400, seed=trial)
        low, high = hs.interval(scores[:, 1] - scores[:, 0])
        covered += low <= -0.1 <= high
    assert covered >= 52  # 95 % of 60 is 57


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_false_discovery_is_scipys(p: list[float]) -> None:
    np.testing.assert_allclose(hs.false_discovery(np.array(p)), stats.false_discovery_control(p), atol=1e-12)


def test_hypotheses_that_were_not_tested_count_as_not_rejected() -> None:
    p = np.array([0.001, 0.02, 0.04])
    expected = hs.false_discovery(np.append(p, np.ones(7)))[:3]
    np.testing.assert_allclose(hs.false_discovery(p, tests=10), expected)
    np.testing.assert_allclose(hs.false_discovery(p, tests=3), hs.false_discovery(p))


def test_false_discovery_leaves_absent_heads_out() -> None:
    q = hs.false_discovery(np.array([[0.01, np.nan], [0.5, 0.02]]))
    assert np.isnan(q[0, 1])
    assert q[0, 0] == pytest.approx(0.03)


def test_naive_gain_is_an_illusion_where_nothing_differs() -> None:
    generator = np.random.default_rng(3)
    gain = hs.honest_gain(table(generator.random((145, 400)) < 0.85))
    assert gain.naive > 0.02
    assert abs(gain.honest) < 0.01


def test_an_honest_gain_stays() -> None:
    generator = np.random.default_rng(4)
    right = generator.random((10, 400)) < 0.7
    right[5] = generator.random(400) < 0.95
    gain = hs.honest_gain(table(right))
    assert gain.best == 4
    assert gain.honest == pytest.approx(right[5].mean() - right[0].mean(), abs=0.01)
    assert gain.low > 0


def test_rank_correlation_is_scipys() -> None:
    generator = np.random.default_rng(6)
    x = generator.normal(size=144)
    y = x + generator.normal(size=144)
    found, low, high = hs.rank_correlation(np.append(x, np.nan), np.append(y, 1.0))
    assert found == pytest.approx(stats.spearmanr(x, y).statistic)
    assert low < found < high


def test_mean_interval_is_scipys_percentile_bootstrap() -> None:
    values = np.random.default_rng(7).exponential(1, (30, 4, 2))
    mean, low, high = hs.mean_interval(values, draws=20_000)
    np.testing.assert_allclose(mean, values.mean(0), rtol=1e-6)
    theirs = stats.bootstrap((values,), np.mean, axis=0, method="percentile", n_resamples=20_000, rng=8)
    # The bounds are 2.5 % quantiles of 20,000 means: known to about two hundredths of their spread.
    error = values.std(0) / np.sqrt(30)
    assert (np.abs(low - theirs.confidence_interval.low) < 0.1 * error).all()
    assert (np.abs(high - theirs.confidence_interval.high) < 0.1 * error).all()
    assert low.shape == high.shape == mean.shape == (4, 2)


def test_mean_interval_leaves_nan_out() -> None:
    generator = np.random.default_rng(9)
    values = generator.normal(2, 1, (40, 3))
    values[generator.random((40, 3)) < 0.3] = np.nan
    mean, low, high = hs.mean_interval(values, draws=20_000)
    np.testing.assert_allclose(mean, np.nanmean(values, 0), rtol=1e-6)
    for column in range(3):
        known = values[np.isfinite(values[:, column]), column]
        theirs = stats.bootstrap((known,), np.mean, method="percentile", n_resamples=20_000, rng=10)
        error = known.std() / np.sqrt(len(known))
        assert low[column] == pytest.approx(theirs.confidence_interval.low, abs=0.15 * error)
        assert high[column] == pytest.approx(theirs.confidence_interval.high, abs=0.15 * error)


@pytest.mark.filterwarnings("error")
def test_mean_interval_of_nothing_is_nan() -> None:
    values = np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 5.0], [4.0, np.nan, np.nan]], dtype=np.float32)
    mean, low, high = hs.mean_interval(values)
    assert np.isnan([mean[1], low[1], high[1]]).all()
    assert mean[0] == pytest.approx(7 / 3)
    assert (mean[2], low[2], high[2]) == (5, 5, 5)  # one text answers: no resample says anything else
    for shape in ((3, 2), (1, 4), (3, 2, 0)):
        assert all(np.isnan(found).all() for found in hs.mean_interval(np.full(shape, np.nan)))


def test_mean_interval_of_one_example_is_a_point() -> None:
    mean, low, high = hs.mean_interval(np.array([[0.1, 7.0, np.nan]]))
    np.testing.assert_allclose(mean, [0.1, 7.0, np.nan], rtol=1e-6)
    np.testing.assert_allclose(low, mean, rtol=1e-6)
    np.testing.assert_allclose(high, mean, rtol=1e-6)


def test_mean_interval_of_many_columns_is_that_of_each() -> None:
    """They are taken in parts of 2048 columns."""
    values = np.random.default_rng(11).normal(0, 1, (12, 2048 + 3))
    values[5, 100] = values[:, 2049] = np.nan
    mean, low, high = hs.mean_interval(values, draws=200, seed=3)
    for column in (0, 100, 2047, 2048, 2049, 2050):
        alone = hs.mean_interval(values[:, [column]], draws=200, seed=3)
        np.testing.assert_allclose([mean[column], low[column], high[column]], np.stack(alone)[:, 0], rtol=1e-5)
    known = np.isfinite(mean)
    assert known.sum() == 2050
    assert (low[known] < mean[known]).all()
    assert (mean[known] < high[known]).all()
    assert not np.array_equal(low, hs.mean_interval(values, draws=200, seed=4)[1], equal_nan=True)
    np.testing.assert_array_equal(low, hs.mean_interval(values, draws=200, seed=3)[1])


def test_mean_intervals_cover_a_known_mean() -> None:
    values = np.random.default_rng(12).normal(3, 2, (60, 1000))
    _, low, high = hs.mean_interval(values)
    assert 0.91 < ((low <= 3) & (high >= 3)).mean() < 0.97
