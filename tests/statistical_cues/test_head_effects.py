"""Reliance and evidence against their naive formulas, the test's error rate, and the control for mere weakness."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import ttest_ind

from headcount.statistical_cues.head_effects import (
    Parts,
    accuracy_changes,
    as_triple,
    change_of_reliance,
    log_odds,
    resampled,
    selectivity,
)


def _parts(examples: int = 200) -> Parts:
    return Parts.of(np.where(np.arange(examples) % 4 == 0, 0.0, np.where(np.arange(examples) % 7 == 0, 0.5, 1.0)))


def test_log_odds_by_hand() -> None:
    logits = np.random.default_rng(0).normal(size=(3, 5, 4))
    labels = np.array([0, 3, 1, 2, 2])
    odds = log_odds(logits, labels)
    for variant in range(3):
        for example, label in enumerate(labels):
            p = torch.tensor(logits[variant, example]).softmax(-1)[label]
            assert odds[variant, example] == pytest.approx(float(torch.log(p / (1 - p))))


def test_reliance_and_evidence_by_hand() -> None:
    parts, values = _parts(), np.random.default_rng(0).normal(size=(1, 200))
    reliance, evidence = (as_triple(samples) for samples in resampled(values, parts, 0))
    right, wrong = values[0, parts.right].mean(), values[0, parts.wrong].mean()
    assert reliance[0][0] == pytest.approx(right - wrong)
    assert evidence[0][0] == pytest.approx((right + wrong) / 2)
    assert reliance[1][0] < reliance[0][0] < reliance[2][0]


def test_the_change_is_tested_as_two_samples() -> None:
    """As Welch's t-test where changes are normal, but more cautious; an effect that both parts share is none."""
    generator, parts = np.random.default_rng(0), _parts(400)
    changes = generator.normal(size=(20, 400)) + 3
    changes[0, parts.right] -= 1
    tested = change_of_reliance(changes, parts, 0)
    expected = ttest_ind(changes[:, parts.right], changes[:, parts.wrong], axis=1, equal_var=False).pvalue
    assert tested.p[0] < 0.001
    assert np.abs(tested.p[1:] - expected[1:]).max() < 0.25
    assert (tested.p[1:] > 0.05).all()
    assert (tested.low < tested.delta).all()
    assert (tested.delta < tested.high).all()


def test_false_alarms_are_as_rare_as_stated() -> None:
    generator, parts = np.random.default_rng(1), _parts(120)
    p = change_of_reliance(generator.standard_t(3, size=(400, 120)), parts, 0).p
    assert (p < 0.05).mean() <= 0.075


def test_a_head_that_weakens_everything_is_not_selective() -> None:
    generator, parts = np.random.default_rng(0), _parts(400)
    baseline = generator.normal(1, 0.5, size=400) + np.where(parts.right, 2, 0)
    only_cues = -1.0 * parts.right
    value, low, high = selectivity(baseline, np.stack([-0.3 * baseline, only_cues]), parts, 0)
    assert value[0] == pytest.approx(0, abs=1e-12)
    assert low[0] <= high[0] < 0.01
    assert 0 < low[1] < value[1] < high[1]


def test_shares_of_nothing_are_not_computed() -> None:
    parts = _parts()
    baseline = np.random.default_rng(0).normal(size=200)
    assert np.isnan(selectivity(baseline, baseline[None], parts, 0)).all()


def test_changes_of_accuracy_on_a_part() -> None:
    before, part = np.array([True, True, False, False, True]), np.array([True, True, True, False, False])
    value, low, high = accuracy_changes(before, np.array([[False, True, True, True, False]]), part)
    assert value.tolist() == [0.0]
    assert low[0] < 0 < high[0]
