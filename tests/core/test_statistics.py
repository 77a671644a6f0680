"""Statistics against scipy, against brute force, and on planted effects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score, matthews_corrcoef

from headcount.core import statistics as hs
from headcount.data.metrics import METRICS


def table(right: np.ndarray) -> hs.Sums:
    """Accuracies from right/wrong [1 + V, n]."""
    return hs.Sums(np.stack([right, np.ones_like(right)], -1).astype(float), METRICS["accuracy"].combine, draws=4000)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 30))
def test_mcnemar_is_scipys_binomial_test(lost: int, won: int, same: int) -> None:
    base = np.array([True] * lost + [False] * won + [True] * same, dtype=bool)
    other = np.array([False] * lost + [True] * won + [True] * same, dtype=bool)
    expected = stats.binomtest(lost, lost + won, 0.5).pvalue if lost + won else 1.0
    assert hs.mcnemar(base, other[None])[0] == pytest.approx(expected)


def test_permutation_test_agrees_with_scipy() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(0.15, 1, 60)
    sums = hs.Sums(np.stack([np.stack([np.zeros(60), np.ones(60)], -1), np.stack([x, np.ones(60)], -1)]),
                   METRICS["loss"].combine, draws=20_000)  # fmt: skip
    ours = hs.permutation_test(sums)[0][0]
    theirs = stats.permutation_test((x,), lambda v, axis: v.mean(axis), permutation_type="samples", n_resamples=20_000,
                                    random_state=1, vectorized=True).pvalue  # fmt: skip
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


def test_calls_and_sums_agree() -> None:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 2, 50)
    found = [generator.integers(0, 2, 50) for _ in range(4)]
    sums = table(np.stack([one == labels for one in found]))
    calls = hs.Calls(found, labels, lambda p, t: float((p == t).mean()), draws=100)
    weights = generator.integers(0, 3, (5, 50))
    np.testing.assert_allclose(sums.scores(weights), calls.scores(weights))
    swaps = generator.integers(0, 2, (5, 50))
    np.testing.assert_allclose(sums.exchanged(swaps), calls.exchanged(swaps))


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(0, 10_000))
def test_scores_of_any_part_are_those_of_the_part(classes: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels, logits = generator.integers(0, classes, 30), generator.normal(size=(30, classes))
    part = generator.random(30) < 0.6
    part[:2] = True
    average = {"average": "binary"} if classes == 2 else {"average": "macro", "labels": range(classes)}
    functions = {"f1": lambda t, p: f1_score(t, p, zero_division=0, **average), "matthews": matthews_corrcoef}
    for name, function in functions.items():
        metric = METRICS[name]
        sums = hs.Sums(metric.features({"logits": logits}, labels)[None], metric.combine)
        found = sums.scores(part[None].astype(float))[0, 0]
        assert found == pytest.approx(function(labels[part], logits.argmax(-1)[part]), abs=1e-9)


def test_rank_correlation_is_scipys() -> None:
    generator = np.random.default_rng(6)
    x = generator.normal(size=144)
    y = x + generator.normal(size=144)
    found, low, high = hs.rank_correlation(np.append(x, np.nan), np.append(y, 1.0))
    assert found == pytest.approx(stats.spearmanr(x, y).statistic)
    assert low < found < high
