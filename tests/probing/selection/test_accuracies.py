"""Accuracies with intervals that hold what they should, and a selection that does not report on its own sentences."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.probing.selection.accuracies import accuracies, accuracy_interval, evaluate, halves, select_best


def coins(sentences: int, candidates: int, seed: int, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """[sentence, candidate, 1]: so many heads that are right by chance alone."""
    generator = np.random.default_rng(seed)
    cases = np.repeat(generator.integers(0, 4, (sentences, 1, 1)), candidates, 1).astype(float)
    return generator.binomial(cases.astype(int), share).astype(float), cases


def test_an_interval_covers() -> None:
    covered = 0
    for seed in range(200):
        hits, cases = coins(80, 1, seed)
        _, low, high = accuracy_interval(hits, cases, seed)
        covered += bool(low[0, 0] <= 0.3 <= high[0, 0])
    assert 0.88 <= covered / 200 <= 0.99


def test_what_is_selected_by_chance_is_no_better_than_chance() -> None:
    """The best of 288 coins looks good on the half that selected it, and is one of them on the other."""
    honest, naive = [], []
    for seed in range(60):
        hits, cases = coins(60, 288, seed)
        selecting = halves(60, seed)
        best = select_best(hits, cases, selecting, seed)
        honest.append(best.accuracy[0])
        naive.append(accuracies(hits[selecting], cases[selecting])[best.index[0], 0])
    assert np.mean(naive) > 0.4
    assert np.mean(honest) == pytest.approx(0.3, abs=0.02)


def test_nothing_without_cases() -> None:
    hits, cases = coins(20, 3, 0)
    hits[:, 1], cases[:, 1] = np.nan, np.nan
    none = np.zeros_like(hits)
    both = np.concatenate([hits, none], 2), np.concatenate([cases, none], 2)
    best = select_best(*both, halves(20, 0), 0)
    assert best.index[0] in (0, 2)
    assert best.index[1] == -1
    assert np.isfinite(best.accuracy[0])
    assert np.isnan(best.accuracy[1])
    accuracy, low, high = accuracy_interval(*both, 0)
    assert np.isnan(accuracy[1]).all()
    assert np.isnan([low[1], high[1]]).all()
    assert np.isfinite([accuracy[0, 0], low[0, 0], high[0, 0]]).all()


def test_a_difference_is_paired() -> None:
    """Of something and itself it is 0, however uncertain both are."""
    hits, cases = coins(30, 1, 0)
    selecting = halves(30, 0)
    one = evaluate(hits[:, 0], cases[:, 0], np.zeros(1), selecting, 0)
    value, low, high = one.above(one)
    assert (value, low, high) == (0, 0, 0)
    _, low, high = one.interval()
    assert low < high


def test_halves_are_halves() -> None:
    assert halves(11, 0).sum() == 5
    assert not np.array_equal(halves(40, 0), halves(40, 1))
