"""The evidence for a difference: permutation tests, paired bootstrap, false discovery rate, held-out gains.

All of it is computed from a `ScoreTable`: a resample has integer weights of the examples, a half zeros and ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr
from scipy.stats import rankdata

from headcount.core.score_tables import ScoreTable


def permutation_test(table: ScoreTable, seed: int = 0, chunk: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided p-values [V] of the paired permutation test, and the exchanged differences [draws, V]."""
    generator = np.random.default_rng(seed)
    exchanged = np.concatenate(
        [
            table.exchanged(generator.integers(0, 2, (min(chunk, table.draws - start), table.examples)))
            for start in range(0, table.draws, chunk)
        ]
    )
    observed = table.exchanged(np.zeros((1, table.examples)))[0]
    # Equal up to rounding counts as equal: permuted sums are added in another order.
    beyond = (np.abs(exchanged) >= np.abs(observed) - 1e-12).sum(0)
    return (1 + beyond) / (1 + len(exchanged)), exchanged


def bootstrap(table: ScoreTable, draws: int = 2000, seed: int = 0, chunk: int = 200) -> np.ndarray:
    """Scores [draws, 1 + V] on paired resamples of the examples: all variants see the same resample."""
    generator = np.random.default_rng(seed)
    draws = min(draws, table.draws)
    n = table.examples
    scores = []
    for start in range(0, draws, chunk):
        rows = generator.integers(0, n, (min(chunk, draws - start), n))
        scores.append(table.scores(np.stack([np.bincount(row, minlength=n) for row in rows])))
    return np.concatenate(scores)


def interval(samples: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """The percentile interval along the first axis."""
    tail = (1 - level) / 2
    if not np.isfinite(samples).any():
        return np.full(samples.shape[1:], np.nan), np.full(samples.shape[1:], np.nan)
    low, high = np.nanquantile(samples, [tail, 1 - tail], axis=0)
    return low, high


def mean_interval(values: np.ndarray, draws: int = 1000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean [...] of values [example, ...] and its bootstrap interval over the examples, ignoring NaN.

    >>> mean, low, high = mean_interval(np.array([[1.0, np.nan], [3.0, 5.0]]))
    >>> mean.tolist()
    [2.0, 5.0]
    """
    examples = len(values)
    flat = np.ascontiguousarray(values.reshape(examples, -1).T, dtype=np.float32)
    known = np.isfinite(flat)
    filled = np.where(known, flat, np.float32(0))
    weights = resamples(examples, draws, seed)
    low, high = np.full(len(flat), np.nan), np.full(len(flat), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(1, dtype=float) / known.sum(1)
        for start in range(0, len(flat), 2048):
            part = slice(start, start + 2048)
            samples: np.ndarray = filled[part] @ weights
            if known[part].all():
                samples /= examples
            else:
                samples /= known[part].astype(np.float32) @ weights
                # A resample may hold no known value of a row.
                samples = np.where(np.isnan(samples), mean[part, None], samples)
            samples.sort(axis=1)  # many times faster than a quantile of unsorted rows
            some = known[part].any(1)
            low[part][some] = _quantile(samples[some], 0.025)
            high[part][some] = _quantile(samples[some], 0.975)
    shape = values.shape[1:]
    return mean.reshape(shape), low.reshape(shape), high.reshape(shape)


def share_interval(
    parts: np.ndarray, wholes: np.ndarray, draws: int = 1000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum of `parts` [example, ...] over that of `wholes`, with its bootstrap interval; both without NaN of either.

    An example is drawn with its part and its whole.

    >>> share, low, high = share_interval(np.array([[1.0], [2.0]]), np.array([[2.0], [4.0]]))
    >>> share.tolist(), low.tolist(), high.tolist()
    ([0.5], [0.5], [0.5])
    """
    examples = len(parts)
    known = np.isfinite(parts) & np.isfinite(wholes)
    part, whole = (
        np.ascontiguousarray(np.where(known, each, 0).reshape(examples, -1).T, dtype=np.float32)
        for each in (parts, wholes)
    )
    some = known.reshape(examples, -1).any(0)
    weights = resamples(examples, draws, seed)
    low, high = np.full(len(part), np.nan), np.full(len(part), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(some, part.sum(1, dtype=float) / whole.sum(1, dtype=float), np.nan)
        for start in range(0, len(part), 2048):
            rows = slice(start, start + 2048)
            samples = (part[rows] @ weights) / (whole[rows] @ weights)
            # A resample may hold no known value of a row.
            samples = np.where(np.isfinite(samples), samples, share[rows, None])
            samples.sort(axis=1)
            low[rows], high[rows] = _quantile(samples, 0.025), _quantile(samples, 0.975)
    shape = parts.shape[1:]
    return share.reshape(shape), low.reshape(shape), high.reshape(shape)


def mean_above_zero(values: np.ndarray) -> np.ndarray:
    """One-sided p-values [...] of Student's t-test that the mean of values [example, ...] is above 0, ignoring NaN.

    >>> mean_above_zero(np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])).round(3).tolist()
    [0.037, 0.963]
    """
    known = np.isfinite(values)
    count = known.sum(0)
    filled = np.where(known, values, 0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(0) / count
        variance = (np.where(known, filled - mean, 0) ** 2).sum(0) / (count - 1)
        t = mean / np.sqrt(variance / count)
    t = np.where((count > 1) & (variance == 0), np.where(mean > 0, np.inf, -np.inf), t)
    return np.where(count > 1, stdtr(np.maximum(count - 1, 1), -t), np.nan)


@lru_cache(maxsize=4)
def resamples(examples: int, draws: int, seed: int) -> np.ndarray:
    """How often each example is in each resample [example, draw]; many variables share one set of examples."""
    counts = np.random.default_rng(seed).multinomial(examples, np.full(examples, 1 / examples), draws)
    return np.ascontiguousarray(counts.T, dtype=np.float32)


def _quantile(ordered: np.ndarray, level: float) -> np.ndarray:
    """The quantile of sorted rows, with linear interpolation."""
    position = level * (ordered.shape[1] - 1)
    below = int(position)
    above = min(below + 1, ordered.shape[1] - 1)
    return np.asarray(ordered[:, below] + (ordered[:, above] - ordered[:, below]) * (position - below))


def false_discovery(p: np.ndarray, tests: int | None = None) -> np.ndarray:
    """The q-values (Benjamini and Hochberg 1995) of all finite p-values; NaN stays NaN.

    `tests`: how many hypotheses there are, if some were not tested; these count as p = 1, so that q is valid however
    the tested ones were selected.
    """
    q = np.full(p.size, np.nan)
    known = np.flatnonzero(np.isfinite(p.ravel()))
    values = p.ravel()[known]
    order = np.argsort(values)
    scaled = values[order] * max(len(values), tests or 0) / np.arange(1, len(values) + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    q[known[order]] = np.minimum(adjusted, 1)
    return q.reshape(p.shape)


@dataclass(frozen=True)
class HonestGain:
    """The gain of the best variant: on the examples that selected it (`naive`) and on held-out ones (`honest`)."""

    naive: float
    honest: float
    low: float
    high: float
    best: int


def honest_gain(table: ScoreTable, higher_is_better: bool = True, splits: int = 1000, seed: int = 0) -> HonestGain:
    """The gain of the variant that is best on a random half of the examples, on the other half; over many splits.

    `naive` is the gain of the variant that is best on all examples, on these same examples. `honest` is the mean gain
    on the held-out halves; `low` to `high` contains 95 % of them.
    """
    sign = 1 if higher_is_better else -1
    n = table.examples
    whole = sign * table.scores(np.ones((1, n)))[0]
    best = int(whole[1:].argmax())
    if n < 2:  # it cannot be split
        return HonestGain(float(whole[1 + best] - whole[0]), np.nan, np.nan, np.nan, best)
    generator = np.random.default_rng(seed)
    halves = np.stack([generator.permutation(n) < n // 2 for _ in range(min(splits, table.draws))]).astype(float)
    chosen = (sign * table.scores(halves))[:, 1:].argmax(1)
    others = sign * table.scores(1 - halves)
    gains = others[np.arange(len(halves)), 1 + chosen] - others[:, 0]
    low, high = interval(gains)
    return HonestGain(float(whole[1 + best] - whole[0]), float(gains.mean()), float(low), float(high), best)


def rank_correlation(
    first: np.ndarray, second: np.ndarray, draws: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """Spearman's correlation of two arrays, with a bootstrap interval over their entries."""
    known = np.isfinite(first) & np.isfinite(second)
    x, y = first[known], second[known]

    def spearman(a: np.ndarray, b: np.ndarray) -> float:
        a, b = rankdata(a), rankdata(b)
        spread = a.std() * b.std()
        return float(np.clip(((a - a.mean()) * (b - b.mean())).mean() / spread, -1, 1)) if spread else 0.0

    generator = np.random.default_rng(seed)
    resampled = [spearman(x[rows], y[rows]) for rows in generator.integers(0, len(x), (draws, len(x)))]
    low, high = interval(np.array(resampled))
    return spearman(x, y), float(low), float(high)
