"""Accuracies with intervals that hold what they should, and a selection that does not report on its own sentences."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.probing.selection.accuracies import accuracies, accuracy_interval, evaluate, halves, select_best


def coins(sentences: int, candidates: int, seed: int, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Hits [sentence, candidate, 1] and cases [sentence, 1]: so many heads that are right by chance alone."""
    generator = np.random.default_rng(seed)
    cases = generator.integers(0, 4, (sentences, 1, 1))
    hits = generator.binomial(np.repeat(cases, candidates, 1), share)
    return hits.astype(float), cases[:, 0].astype(float)


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
        naive.append(accuracies(hits, cases, selecting)[best.index[0], 0])
    assert np.mean(naive) > 0.4
    assert np.mean(honest) == pytest.approx(0.3, abs=0.02)


def test_nothing_without_cases() -> None:
    hits, cases = coins(20, 3, 0)
    hits[:, 1] = np.nan
    both = np.concatenate([hits, np.zeros_like(hits)], 2), np.concatenate([cases, np.zeros_like(cases)], 1)
    best = select_best(*both, halves(20, 0), 0)
    assert best.index[0] in (0, 2)
    assert best.index[1] == -1
    assert np.isfinite(best.accuracy[0])
    assert np.isnan(best.accuracy[1])
    accuracy, low, high = accuracy_interval(*both, 0)
    for absent in (1, (slice(None), 1)):
        assert np.isnan([accuracy[absent], low[absent], high[absent]]).all()
    assert np.isfinite([accuracy[0, 0], low[0, 0], high[0, 0]]).all()


def test_a_difference_is_paired() -> None:
    """Of something and itself it is 0, however uncertain both are."""
    hits, cases = coins(30, 1, 0)
    selecting = halves(30, 0)
    one = evaluate(hits[:, 0], cases, np.zeros(1), selecting, 0)
    value, low, high = one.above(one)
    assert (value, low, high) == (0, 0, 0)
    _, low, high = one.interval()
    assert low < high


def test_halves_are_halves() -> None:
    assert halves(11, 0).sum() == 5
    assert not np.array_equal(halves(40, 0), halves(40, 1))


def test_all_heads_at_once_have_the_interval_of_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases are resampled once, in as many parts as memory wants: [sentence, layer, head, direction, relation]."""
    generator = np.random.default_rng(0)
    cases = generator.integers(0, 4, (40, 2, 3))
    hits = generator.binomial(cases[:, None, None], 0.4, (40, 2, 5, 2, 3)).astype(np.float32)
    monkeypatch.setattr("headcount.probing.selection.accuracies.AT_ONCE", 14)
    together = accuracy_interval(hits, cases.astype(np.float32), 0)
    for index in np.ndindex(2, 5, 2, 3):
        alone = accuracy_interval(hits[:, *index], cases[:, *index[2:]].astype(np.float32), 0)
        assert [float(each) for each in alone] == pytest.approx([float(each[index]) for each in together])


@pytest.mark.parametrize(("sentences", "known"), [(5, False), (6, True)])
def test_few_sentences_that_all_agree_show_nothing(sentences: int, known: bool) -> None:
    """Of 40 held-out sentences few have a case, and one is right in all of them, the other in none."""
    selecting = np.arange(80) < 40
    cases = np.zeros((80, 1))
    cases[40 : 40 + sentences] = 1
    right, wrong = (evaluate(share * cases, cases, np.zeros(1), selecting, 0) for share in (1, 0))
    value, low, _ = right.above(wrong)
    assert value == 1
    assert bool(low[0] > 0) is known
