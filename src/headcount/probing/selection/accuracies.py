"""How often a head is right, with an interval over the sentences, and the best of some candidates, honestly.

The best head and the best offset of a relation are selected on one half of the sentences and evaluated on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.core.statistics import resamples

DRAWS = 1000
AT_ONCE = 1024
"""Columns whose resamples are in memory together."""
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Values, and the lower and upper ends of their 95 % intervals."""


def accuracy_interval(hits: np.ndarray, cases: np.ndarray, seed: int) -> Triple:
    """Hits over cases, both [sentence, ...] of one shape, and a bootstrap interval over the sentences.

    NaN where there are no cases.
    """
    right, total = (array.reshape(len(array), -1) for array in (hits, cases))
    parts = [
        _interval(*_resampled(right[:, start : start + AT_ONCE], total[:, start : start + AT_ONCE], seed))
        for start in range(0, right.shape[1], AT_ONCE)
    ]
    accuracy, low, high = (np.concatenate(arrays).reshape(hits.shape[1:]) for arrays in zip(*parts, strict=True))
    return accuracy, low, high


def _resampled(right: np.ndarray, total: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The accuracies [column], and those on resamples of the sentences [draw, column]."""
    weights = resamples(len(right), DRAWS, seed).T
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = right.sum(0, dtype=float) / total.sum(0, dtype=float)
        samples = (weights @ right.astype(np.float32)) / (weights @ total.astype(np.float32))
    # A resample without any case says nothing.
    return accuracy, np.where(np.isfinite(samples), samples, accuracy)


def _interval(values: np.ndarray, samples: np.ndarray) -> Triple:
    low, high = np.quantile(samples, [0.025, 0.975], axis=0)
    return values, low, high


@dataclass(frozen=True)
class Evaluated:
    """What was selected on one half of the sentences, and its accuracy on the other."""

    index: np.ndarray
    """Which candidate, for each column; -1 where no candidate has cases."""
    accuracy: np.ndarray
    samples: np.ndarray
    """[draw, column]: on resamples of the other half, the same for everything that is evaluated on it."""

    def interval(self) -> Triple:
        return _interval(self.accuracy, self.samples)

    def take(self, columns: np.ndarray) -> Evaluated:
        """Some of the columns; none for -1."""
        absent = columns < 0
        return Evaluated(
            np.where(absent, -1, self.index[columns]),
            np.where(absent, np.nan, self.accuracy[columns]),
            np.where(absent, np.nan, self.samples[:, columns]),
        )

    def above(self, other: Evaluated) -> Triple:
        """How much better it is, column by column, with a paired interval."""
        return _interval(self.accuracy - other.accuracy, self.samples - other.samples)


def halves(sentences: int, seed: int) -> np.ndarray:
    """Whether each sentence selects; the others evaluate."""
    return np.random.default_rng(seed).permutation(sentences) < sentences // 2


def accuracies(hits: np.ndarray, cases: np.ndarray) -> np.ndarray:
    """Hits over cases, summed over the sentences; NaN where there are none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: np.ndarray = hits.sum(0) / cases.sum(0)
    return shares


def select_best(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> Evaluated:
    """From hits and cases [sentence, candidate, column], both NaN or 0 where there is no such candidate."""
    seen = np.nan_to_num(accuracies(hits[selecting], cases[selecting]), nan=-1)
    index = np.where(seen.max(0) < 0, -1, seen.argmax(0))
    columns = np.arange(hits.shape[2])
    return evaluate(hits[:, index, columns], cases[:, index, columns], index, selecting, seed)


def evaluate(hits: np.ndarray, cases: np.ndarray, index: np.ndarray, selecting: np.ndarray, seed: int) -> Evaluated:
    """What was selected, by its hits and cases [sentence, column], on the sentences that did not select."""
    accuracy, samples = _resampled(hits[~selecting], cases[~selecting], seed)
    absent = index < 0
    return Evaluated(index, np.where(absent, np.nan, accuracy), np.where(absent, np.nan, samples))
