"""Evidence about shares: a change in accuracy depends only on how many examples became wrong and how many right."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, hypergeom, norm


def mcnemar(baseline_right: np.ndarray, variant_right: np.ndarray) -> np.ndarray:
    """Exact two-sided p-values [V] for right/wrong [n] against [V, n].

    Null hypothesis: an example that changes becomes right as often as it becomes wrong.
    """
    lost, won = count_changes(baseline_right, variant_right)
    return np.asarray(np.minimum(1.0, 2 * binom.cdf(np.minimum(lost, won), lost + won, 0.5)))


def count_changes(baseline_right: np.ndarray, variant_right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many examples became wrong and how many became right [V]."""
    return (baseline_right & ~variant_right).sum(-1), (~baseline_right & variant_right).sum(-1)


def tango_interval(lost: np.ndarray, won: np.ndarray, examples: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Score interval of the change in accuracy (Tango 1998), for counts of lost and won examples.

    Unlike a bootstrap interval it has a width where nothing changed: no change in 70 examples does not prove that
    there is none.

    >>> low, high = tango_interval(np.array([0, 12]), np.array([0, 3]), 70, 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-0.052, -0.243], [0.052, -0.023])
    """
    lost, won = np.asarray(lost, dtype=float), np.asarray(won, dtype=float)
    z = float(norm.ppf((1 + level) / 2))

    def end(sign: float) -> np.ndarray:
        # The score decreases with the assumed change: the end is where it crosses z.
        below, above = np.full(lost.shape, -1.0), np.full(lost.shape, 1.0)
        for _ in range(60):
            middle = (below + above) / 2
            high = _score(lost, won, examples, middle) > sign * z
            below, above = np.where(high, middle, below), np.where(high, above, middle)
        return np.asarray((below + above) / 2)

    return end(1.0), end(-1.0)


def _score(lost: np.ndarray, won: np.ndarray, n: int, change: np.ndarray) -> np.ndarray:
    """How many standard errors the counts lie above those expected for `change`."""
    linear = -won - lost + (2 * n - won + lost) * change
    constant = -lost * change * (1 - change)
    share = (np.sqrt(np.maximum(linear**2 - 8 * n * constant, 0)) - linear) / (4 * n)
    variance = n * (2 * share + change * (1 - change))
    top = won - lost - n * change
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(variance > 0, top / np.sqrt(np.maximum(variance, 0)), np.sign(top) * np.inf)
    return np.asarray(np.nan_to_num(score, nan=0.0, posinf=np.inf, neginf=-np.inf))


def wilson_interval(successes: np.ndarray, trials: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Score interval of a share (Wilson 1927); NaN where there are no trials.

    >>> low, high = wilson_interval(np.array([0, 15]), np.array([10, 20]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.531], [0.278, 0.888])
    """
    z = float(norm.ppf((1 + level) / 2))
    trials = np.asarray(trials, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.asarray(successes, dtype=float) / trials
        centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
        reach = z / (1 + z**2 / trials) * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return np.maximum(centre - reach, 0), np.minimum(centre + reach, 1)


def binomial_test(successes: np.ndarray, trials: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    """Exact two-sided p-values: twice the smaller tail of the binomial distribution, at most 1.

    >>> binomial_test(np.array([5, 10]), np.array([10, 10]), 0.5).round(4).tolist()
    [1.0, 0.002]
    """
    below, above = binom.cdf(successes, trials, chance), binom.sf(np.asarray(successes) - 1, trials, chance)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above)))


def most_in_population(hits: np.ndarray, drawn: int, population: int, level: float) -> np.ndarray:
    """Exact upper confidence bound of the number of hits in a finite population, for hits in a random sample of it.

    The sample of `drawn` is taken without replacement, so the bound is one-sided, exact (hypergeometric), and the
    number itself once everything has been drawn.

    >>> most_in_population(np.array([0, 2]), 32, 960, 0.95).tolist()
    [84, 174]
    >>> most_in_population(np.array([0, 2]), 960, 960, 0.95).tolist()
    [0, 2]
    """
    counts, where = np.unique(np.asarray(hits), return_inverse=True)
    # The chance of so few hits decreases with the number in the population: the last number that is not ruled out.
    least, most = counts.copy(), population - (drawn - counts)
    while (least < most).any():
        middle = (least + most + 1) // 2
        possible = hypergeom.cdf(counts, population, middle, drawn) > 1 - level - 1e-12
        least, most = np.where(possible, middle, least), np.where(possible, most, middle - 1)
    return np.asarray(least[where].reshape(np.shape(hits)))


def least_in_population(hits: np.ndarray, drawn: int, population: int, level: float) -> np.ndarray:
    """Exact lower confidence bound of the number of hits in a finite population, for hits in a random sample of it.

    >>> least_in_population(np.array([0, 2]), 32, 960, 0.95).tolist()
    [0, 12]
    """
    return np.asarray(population - most_in_population(drawn - np.asarray(hits), drawn, population, level))
