"""The evidence for a change in a mean, such as that of the loss, where few examples carry most of the change.

Differences of losses are skewed and heavy-tailed. A permutation test assumes that they are symmetric, and a percentile
bootstrap interval is too narrow. The bootstrap-t used here looks at how far the *studentised* mean of resamples lies
from the mean of the sample, on each side and on both together, and takes the more conservative answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

FIRST, MOST, MOST_OF_MANY = 2000, 100_000, 1_000_000
"""Resamples for every variant, at most as many for those whose p-value is small, and for the smallest of thousands."""
SMALL, SMALLEST, CHUNK = 0.02, 20, 500


@dataclass(frozen=True)
class MeanChanges:
    """For each variant: the change of the mean, a p-value, a 95 % interval, one-sided 95 % bounds."""

    delta: np.ndarray
    p: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bound_low: np.ndarray
    bound_high: np.ndarray


def mean_changes(changes: np.ndarray, weights: np.ndarray, seed: int = 0, tests: int | None = None) -> MeanChanges:
    """For changes [V, n] of sums and weights [n] (such as tokens): the change of sum / weight, and its evidence.

    `p`: of the null hypothesis that the mean change is zero, whatever the shape of its distribution. It is computed
    with one *counterexample* added, as extreme as the most extreme example and against the effect, so that no effect
    that one more example could undo is called significant. Intervals are computed without it. `tests`: how many
    p-values will be corrected together, if that is more than V.
    """
    scale = weights.mean()
    table, share = np.asarray(changes, dtype=float) / scale, np.asarray(weights, dtype=float) / scale
    delta = table.sum(1) / share.sum()
    if table.shape[1] < 2:
        unknown = np.full(len(table), np.nan)
        return MeanChanges(delta, np.ones(len(table)), unknown, unknown, unknown, unknown)
    generator = np.random.default_rng(seed)
    t, deviations = _studentise(table, share), np.concatenate(list(_resample(table, share, FIRST, generator)))
    error = np.where(t == 0, 0, delta / np.where(t == 0, 1, t))
    low, high = _interval(delta, error, deviations, 0.95)
    bound_low, bound_high = _interval(delta, error, deviations, 0.90)
    wider, wider_share = _with_counterexample(table, delta, share), np.append(share, 1.0)
    p = _p_values(wider, wider_share, FIRST, generator)
    close = np.flatnonzero(p < SMALL)
    if len(close):
        # After the correction for V tests a single effect needs p < 0.05 / V: fewer draws cannot give that.
        enough = 80 * max(len(p), tests or 0)
        draws = int(np.clip(enough, FIRST, MOST))
        p[close] = _p_values(wider[close], wider_share, draws, generator)
        closest = np.flatnonzero(p < SMALLEST / draws)
        if enough > MOST and len(closest):
            p[closest] = _p_values(wider[closest], wider_share, min(enough, MOST_OF_MANY), generator)
    return MeanChanges(delta, p, low, high, bound_low, bound_high)


def mean_interval_of(
    changes: np.ndarray, weights: np.ndarray, level: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For changes [V, n] of sums and weights [n]: the change of sum / weight and its bootstrap-t interval.

    Fewer than two examples give an unlimited one.
    """
    scale = weights.mean()
    table, share = np.asarray(changes, dtype=float) / scale, np.asarray(weights, dtype=float) / scale
    delta = table.sum(1) / share.sum()
    if table.shape[1] < 2:
        return delta, np.full(len(table), -np.inf), np.full(len(table), np.inf)
    residuals = table - delta[:, None] * share
    error = np.sqrt((residuals**2).sum(1)) / share.sum()
    # As many resamples as give the ends of the interval twenty that lie beyond them.
    draws = int(np.clip(40 / (1 - level), FIRST, MOST))
    deviations = np.concatenate(list(_resample(table, share, draws, np.random.default_rng(seed))))
    return delta, *_interval(delta, error, deviations, level)


def careful_interval_of(
    changes: np.ndarray, weights: np.ndarray, level: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `mean_interval_of`, but each end also allows for one more example, as extreme as the most extreme one.

    Where few examples carry the change, a small sample may hold none of the largest: without this, the interval would
    miss the mean too often.
    """
    delta, low, high = mean_interval_of(changes, weights, level, seed)
    if changes.shape[1] < 2:
        return delta, low, high
    scale = weights.mean()
    residuals = changes / scale - delta[:, None] * (weights / scale)
    middle = np.median(residuals, axis=1)
    farthest = np.abs(residuals - middle[:, None]).max(1)
    more = np.append(weights, scale)
    lower, higher = (
        mean_interval_of(np.column_stack([changes, scale * (delta + middle + side * farthest)]), more, level, seed)
        for side in (-1, 1)
    )
    return delta, np.minimum(low, lower[1]), np.maximum(high, higher[2])


def signed_rank(changes: np.ndarray) -> np.ndarray:
    """Two-sided p-values [V] of Wilcoxon's signed-rank test for changes [V, n], by its normal approximation.

    Null hypothesis: the changes are symmetric around zero. It is sensitive to a small change of many examples rather
    than to a large one of few.
    """
    ranks = rankdata(np.abs(changes), axis=1) * (changes != 0)
    spread = np.sqrt((ranks**2).sum(1))
    score = np.divide((np.sign(changes) * ranks).sum(1), spread, out=np.zeros(len(changes)), where=spread > 0)
    return np.asarray(2 * norm.sf(np.abs(score)))


def _studentise(table: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The mean in standard errors [V]; 0 where no example changes."""
    total = table.sum(1)
    residuals = table - (total / share.sum())[:, None] * share
    length = np.sqrt((residuals**2).sum(1))
    surely = np.where(total == 0, 0.0, np.copysign(np.inf, total))
    return np.asarray(np.divide(total, length, out=surely, where=length > 0))


def _resample(table: np.ndarray, share: np.ndarray, draws: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Studentised deviations [CHUNK, V] of resampled means from the mean of the examples."""
    n = table.shape[1]
    residuals = (table - (table.sum(1) / share.sum())[:, None] * share).T
    columns = np.concatenate([residuals, residuals**2, residuals * share[:, None]], axis=1)
    sides = np.stack([share, share**2], axis=1)
    for start in range(0, draws, CHUNK):
        rows = generator.integers(0, n, (min(CHUNK, draws - start), n))
        counts = np.stack([np.bincount(row, minlength=n) for row in rows]).astype(float)
        sums, squares, crossed = np.split(counts @ columns, 3, axis=1)
        weight, weight_squares = np.split(counts @ sides, 2, axis=1)
        moved = sums / weight
        length = np.sqrt(np.maximum(squares - 2 * moved * crossed + moved**2 * weight_squares, 0))
        surely = np.where(sums == 0, 0.0, np.copysign(np.inf, sums))
        yield np.divide(sums, length, out=surely, where=length > 1e-12 * np.abs(sums))


def _interval(
    delta: np.ndarray, error: np.ndarray, deviations: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """The hull of the equal-tailed and the symmetric interval."""
    tail = (1 - level) / 2
    finite = np.clip(deviations, -1e6, 1e6)
    below, above = np.quantile(finite, [tail, 1 - tail], axis=0)
    both = np.quantile(np.abs(finite), level, axis=0)
    return delta - np.maximum(above, both) * error, delta + np.maximum(-below, both) * error


def _with_counterexample(table: np.ndarray, delta: np.ndarray, share: np.ndarray) -> np.ndarray:
    residuals = table - delta[:, None] * share
    middle = np.median(residuals, axis=1)
    farthest = np.abs(residuals - middle[:, None]).max(1)
    return np.concatenate([table, (delta + middle - np.sign(delta) * farthest)[:, None]], axis=1)


def _p_values(table: np.ndarray, share: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
    t = _studentise(table, share)
    above, below, beyond = np.zeros(len(t)), np.zeros(len(t)), np.zeros(len(t))
    for deviations in _resample(table, share, draws, generator):
        above += (deviations >= t).sum(0)
        below += (deviations <= t).sum(0)
        beyond += (np.abs(deviations) >= np.abs(t)).sum(0)
    sides = 2 * (1 + np.minimum(above, below)) / (1 + draws)
    p = np.minimum(1, np.maximum(sides, (1 + beyond) / (1 + draws)))
    return np.where(t == 0, 1.0, p)
