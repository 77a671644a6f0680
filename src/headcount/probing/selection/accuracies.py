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
LEAST_SENTENCES = 6
"""Sentences with cases that an interval needs: that all of five agree happens by chance in 1 of 32 times, more often
than the 2.5 % that an interval allows on either side."""
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Values, and the lower and upper ends of their 95 % intervals."""


def accuracy_interval(hits: np.ndarray, cases: np.ndarray, seed: int) -> Triple:
    """Hits [sentence, ..., *columns] over cases [sentence, *columns], and a bootstrap interval over the sentences.

    The dimensions between are those of the heads: all of them have the same cases, which are resampled once. NaN where
    a head does not exist or there are no cases.
    """
    columns = cases[0].size
    right, total = hits.reshape(len(hits), -1), cases.reshape(len(cases), -1)
    together = max(AT_ONCE // columns, 1) * columns
    weights, resampled = _resampled_cases(total, seed)
    parts = [
        _interval(*_resampled(right[:, start : start + together], total, weights, resampled))
        for start in range(0, right.shape[1], together)
    ]
    accuracy, low, high = (np.concatenate(arrays).reshape(hits.shape[1:]) for arrays in zip(*parts, strict=True))
    return accuracy, low, high


def _resampled_cases(total: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each sentence is in each resample [draw, sentence], and the cases of the resamples [draw, column].

    NaN for columns that too few sentences have cases of.
    """
    weights = resamples(len(total), DRAWS, seed).T
    resampled = weights @ total.astype(np.float32, copy=False)
    resampled[:, (total > 0).sum(0) < LEAST_SENTENCES] = np.nan
    return weights, resampled


def _resampled(
    right: np.ndarray, total: np.ndarray, weights: np.ndarray, resampled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The accuracies [head x column], and those on resamples of the sentences [draw, head x column]."""
    heads = right.shape[1] // total.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = right.sum(0, dtype=float) / np.tile(total.sum(0, dtype=float), heads)
        samples = (weights @ right.astype(np.float32, copy=False)).reshape(len(weights), heads, -1)
        samples /= resampled[:, None]
    # A resample without any case says nothing.
    samples = np.where(resampled[:, None] == 0, accuracy.reshape(heads, -1), samples)
    return accuracy, samples.reshape(len(weights), -1)


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


def accuracies(hits: np.ndarray, cases: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
    """Hits [sentence, ..., *columns] over cases [sentence, *columns], summed over all or `some` of the sentences.

    NaN without cases.
    """
    # A product, because `hits[some]` would be a copy of what may take gigabytes. Sums of counts are exact.
    weights = np.ones(len(hits), hits.dtype) if some is None else some.astype(hits.dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: np.ndarray = np.tensordot(weights, hits, 1) / np.tensordot(weights, cases, 1)
    return shares


def select_best(hits: np.ndarray, cases: np.ndarray, selecting: np.ndarray, seed: int) -> Evaluated:
    """From hits [sentence, candidate, column], NaN where there is no such candidate, and cases [sentence, column]."""
    seen = np.nan_to_num(accuracies(hits, cases, selecting), nan=-1)
    index = np.where(seen.max(0) < 0, -1, seen.argmax(0))
    return evaluate(hits[:, index, np.arange(hits.shape[2])], cases, index, selecting, seed)


def evaluate(hits: np.ndarray, cases: np.ndarray, index: np.ndarray, selecting: np.ndarray, seed: int) -> Evaluated:
    """What was selected, by its hits and cases [sentence, column], on the sentences that did not select."""
    total = cases[~selecting]
    accuracy, samples = _resampled(hits[~selecting], total, *_resampled_cases(total, seed))
    absent = index < 0
    return Evaluated(index, np.where(absent, np.nan, accuracy), np.where(absent, np.nan, samples))
