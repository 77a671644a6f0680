"""The evidence for an interaction: is the effect of two heads together the sum of their effects?

Of an accuracy, an example's interaction is right(both) - right(first) - right(second) + right(none): a whole number
from -2 to 2, mostly 0. Its test and its interval are those of a change in accuracy (McNemar, Tango), for more than two
values. Of a score that is no mean, examples have no interactions of their own: pseudo-values take their place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm

from headcount.core.score_tables import ScoreTable

FARTHEST = 2
"""The largest interaction of an example that is right or wrong."""


def interactions(scores: np.ndarray, both: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The interaction [P, ...] of each pair from scores [1 + V, ...], the baseline first, for the pairs' variants [P].

    >>> interactions(np.array([0.9, 0.8, 0.7, 0.1]), np.array([2]), np.array([0]), np.array([1])).round(6).tolist()
    [-0.5]
    """
    return np.asarray(scores[1 + both] - scores[1 + first] - scores[1 + second] + scores[0])


def sign_flip_test(values: np.ndarray) -> np.ndarray:
    """Exact two-sided p-values [P] for whole numbers [P, n] from -2 to 2.

    Null hypothesis: examples with an interaction have it as often in the one direction as in the other. For values
    from -1 to 1 this is McNemar's test.

    >>> sign_flip_test(np.array([[1, 1, 1, 1, 1, 1, 0], [2, 1, 1, -1, 0, 0, 0]])).tolist()
    [0.03125, 0.5]
    """
    whole = np.rint(values).astype(int)
    ones, twos = ((np.abs(whole) == size).sum(1) for size in (1, 2))
    observed = np.abs(whole.sum(1))
    return np.array([_tail(*row) for row in zip(ones, twos, observed, strict=True)])


def _tail(ones: int, twos: int, observed: int) -> float:
    """The chance that random signs of so many ones and twos give a sum at least as far from 0."""
    if observed == 0:
        return 1.0
    positive = np.arange(twos + 1)
    rest = observed - 2 * (2 * positive - twos)  # what the ones must sum to at least: (2 * b - ones) >= rest
    return float(min(1.0, 2 * (binom.pmf(positive, twos, 0.5) * binom.sf((rest + ones - 1) // 2, ones, 0.5)).sum()))


def score_interval(values: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Score interval of the mean [P] of whole numbers [P, n] from -2 to 2, after Tango (1998).

    A mean is in it if it lies within so many standard errors, those of the most probable distribution that has this
    mean. It has a width where every example has the interaction 0; where no value is beyond -1 and 1, it is Tango's.

    >>> low, high = score_interval(np.array([[0] * 70, [-1] * 12 + [1] * 3 + [0] * 55]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-0.052, -0.243], [0.052, -0.023])
    """
    whole = np.rint(values).astype(int)
    sizes = np.arange(-FARTHEST, FARTHEST + 1)
    counts = np.stack([(whole == size).sum(1) for size in sizes], axis=1).astype(float)
    farthest = np.abs(whole).max(1, initial=1).astype(float)
    z = float(norm.ppf((1 + level) / 2))

    def end(sign: float) -> np.ndarray:
        # The score decreases with the assumed mean: the end is where it crosses z.
        below, above = -farthest, farthest
        for _ in range(50):
            middle = (below + above) / 2
            high = _score(counts, sizes, middle, farthest) > sign * z
            below, above = np.where(high, middle, below), np.where(high, above, middle)
        return np.asarray((below + above) / 2)

    return end(1.0), end(-1.0)


def _score(counts: np.ndarray, sizes: np.ndarray, mean: np.ndarray, farthest: np.ndarray) -> np.ndarray:
    """How many standard errors the observed mean lies above the assumed one.

    The most probable distribution with a given mean has the shares counts / (n (1 + tilt * (size - mean))). The tilt is
    limited by the extreme values: if even the largest one does not suffice, the rest lies at the extreme value.
    """
    n = counts.sum(1)
    away = sizes - mean[:, None]
    least, most = -1 / (farthest - mean), 1 / (farthest + mean)

    def pull(tilt: np.ndarray) -> np.ndarray:
        # An extreme value that was observed gets an infinite share at the limit; one that was not gets none.
        scale = np.maximum(1 + tilt[:, None] * away, 1e-300)
        return np.asarray((counts * away / scale).sum(1))

    below, above = least, most
    for _ in range(50):
        middle = (below + above) / 2
        more = pull(middle) > 0
        below, above = np.where(more, middle, below), np.where(more, above, middle)
    tilt = (below + above) / 2
    shares = counts / np.maximum(1 + tilt[:, None] * away, 1e-300)
    spread = (shares * away**2).sum(1)
    left = pull(tilt)
    spread += np.abs(left) * np.where(left > 0, farthest + mean, farthest - mean)
    top = counts @ sizes - n * mean
    surely = np.where(top == 0, 0.0, np.copysign(np.inf, top))
    return np.asarray(np.divide(top, np.sqrt(spread), out=surely, where=spread > 0))


@dataclass(frozen=True)
class Strongest:
    """The pair with the largest interaction: its size on the examples that selected it, and on held-out ones."""

    number: int
    naive: float
    honest: float
    low: float
    high: float


def strongest_interaction(values: np.ndarray, weights: np.ndarray, splits: int = 1000, seed: int = 0) -> Strongest:
    """For interactions [P, n] of sums and weights [n]: of the pair that is strongest on one half of the examples.

    `honest`: the mean, over random splits, of the interaction on the other half, counted as positive if it has the sign
    that it has on the first one; `low` to `high` contains 95 % of the splits.
    """
    whole = values.sum(1) / weights.sum()
    best = int(np.abs(whole).argmax())
    n = values.shape[1]
    if n < 2:
        return Strongest(best, abs(float(whole[best])), np.nan, np.nan, np.nan)
    generator = np.random.default_rng(seed)
    halves = np.stack([generator.permutation(n) < n // 2 for _ in range(splits)]).astype(float)
    first = (values @ halves.T) / (halves @ weights)  # [P, splits]
    chosen, every = np.abs(first).argmax(0), np.arange(splits)
    others = (values[chosen].T * (1 - halves).T).sum(0) / ((1 - halves) @ weights)
    held_out = others * np.sign(first[chosen, every])
    low, high = np.quantile(held_out, [0.025, 0.975])
    return Strongest(best, abs(float(whole[best])), float(held_out.mean()), float(low), float(high))


def pseudo_values(table: ScoreTable) -> np.ndarray:
    """The pseudo-values [1 + V, n] of the jackknife, with the scores as their means.

    An example's is how much it contributes: n times the score minus n - 1 times the score without the example. That of
    a mean over examples is the example's own value.
    """
    n = table.examples
    whole = table.scores(np.ones((1, n)))[0]
    without = table.scores(1 - np.eye(n)) if n > 1 else whole[None]
    pseudo = n * whole - (n - 1) * without
    return np.asarray((pseudo - pseudo.mean(0) + whole).T)
