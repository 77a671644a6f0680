"""The evidence for interactions: equal to all signs, Tango's interval as a special case, coverage, pseudo-values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from headcount.core.interactions import (
    interactions,
    pseudo_values,
    score_interval,
    sign_flip_test,
    strongest_interaction,
)
from headcount.core.mean_changes import mean_changes
from headcount.core.proportions import mcnemar, tango_interval
from headcount.core.score_tables import Sums

SIZES = np.arange(-2, 3)


def test_an_interaction_is_the_joint_effect_minus_the_sum() -> None:
    scores = np.random.default_rng(0).normal(size=(4, 7))
    both, first, second = scores[3] - scores[0], scores[1] - scores[0], scores[2] - scores[0]
    found = interactions(scores, np.array([2]), np.array([0]), np.array([1]))
    np.testing.assert_allclose(found[0], both - (first + second))


@pytest.mark.parametrize("values", [[2, 1, 1, -1, 2, 0], [1, 1, 1, 1], [-2, -2, 1, 0, 0], [2, -2, 1, -1], [2], [0, 0]])
def test_equal_to_all_signs(values: list[int]) -> None:
    sums = [abs(np.dot(signs, np.abs(values))) for signs in product((-1, 1), repeat=len(values))]
    assert sign_flip_test(np.array([values]))[0] == pytest.approx(np.mean(np.array(sums) >= abs(sum(values))))


def test_without_twos_it_is_mcnemar_and_tango() -> None:
    values = np.random.default_rng(0).choice([-1, 0, 1], (50, 40), p=[0.1, 0.7, 0.2])
    before, after = values < 0, values > 0  # right before and wrong after is -1
    expected = [mcnemar(b, a[None])[0] for b, a in zip(before, after, strict=True)]
    np.testing.assert_allclose(sign_flip_test(values), expected)
    tango = tango_interval((values < 0).sum(1), (values > 0).sum(1), 40, 0.95)
    for ours, theirs in zip(score_interval(values), tango, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize(
    "shares", [(0.005, 0.05, 0.9, 0.03, 0.015), (0, 0.02, 0.97, 0.005, 0.005), (0.1, 0.2, 0.4, 0.2, 0.1)]
)
def test_the_interval_covers_and_the_test_holds_its_level(shares: tuple[float, ...]) -> None:
    generator = np.random.default_rng(0)
    for examples in (64, 300):
        drawn = generator.choice(SIZES, (2000, examples), p=shares)
        low, high = score_interval(drawn)
        mean = float(np.dot(shares, SIZES))
        assert ((low <= mean) & (mean <= high)).mean() > 0.935
        assert (low <= drawn.mean(1)).all()
        assert (high >= drawn.mean(1)).all()
    # A mean of zero that is not symmetric: approximately.
    null = generator.choice(SIZES, (2000, 300), p=(0, 0.06, 0.91, 0, 0.03))
    assert (sign_flip_test(null) < 0.05).mean() < 0.06


def test_the_pseudo_values_of_a_mean_are_its_values() -> None:
    values = np.random.default_rng(0).normal(size=(3, 20))
    table = Sums(np.stack([values, np.ones_like(values)], -1), lambda sums: sums[..., 0] / sums[..., 1])
    np.testing.assert_allclose(pseudo_values(table), values)


def test_pseudo_values_hold_their_level_for_a_correlation() -> None:
    """Four independent predictions of the same labels: in truth their correlations do not interact."""
    generator = np.random.default_rng(1)

    def correlation(sums: np.ndarray) -> np.ndarray:
        n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
        return np.asarray((n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y)))

    small, covered = [], []
    for _ in range(300):
        labels = generator.normal(size=80)
        scores = labels + generator.normal(size=(4, 80))
        y = np.broadcast_to(labels, scores.shape)
        features = np.stack([np.ones_like(y), scores, y, scores**2, y**2, scores * y], -1)
        values = pseudo_values(Sums(features, correlation))
        one = [np.array([number]) for number in (2, 0, 1)]
        found = mean_changes(interactions(values, *one), np.ones(80))
        small.append(found.p[0] < 0.05)
        covered.append(found.low[0] <= 0 <= found.high[0])
    assert np.mean(small) < 0.08
    assert np.mean(covered) > 0.92


def test_the_strongest_of_noise_is_nothing_on_held_out_examples() -> None:
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(200, 60))
    found = strongest_interaction(noise, np.ones(60))
    assert found.naive > 0.25
    # Splits of one sample are not independent: what one half has too much, the other has too little.
    assert found.honest < 0.1
    noise[7] -= 1
    planted = strongest_interaction(noise, np.ones(60))
    assert planted.number == 7
    assert planted.honest == pytest.approx(abs(noise[7].mean()), abs=0.05)
    assert np.isnan(strongest_interaction(noise[:, :1], np.ones(1)).honest)
