"""When is a change settled? Looks at more and more of the examples, and intervals that hold at all of them together.

A race asks whether the change of a mean over N examples lies beyond a margin. The examples come in random order, so
those seen so far are a random sample, without replacement, of the N: what is estimated is the change on all of them,
and an interval shrinks to that number as they run out. Looking again and again would break a 95 % interval. Here every
look before the last one gets an equal share of the 5 % (Bonferroni), so that the chance that any of the intervals of a
variant misses its change is at most 5 %, whenever it stops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headcount.core.mean_changes import careful_interval_of
from headcount.core.proportions import least_in_population, most_in_population

ERROR = 0.05
"""The chance, for each variant, that any of its intervals misses the change on all examples."""
FIRST, PARTS, GROWTH = 64, 64, 1.5
"""Examples of the first round at least; parts into which the examples are divided at most; growth from look to look."""
MOSTLY = 0.4
"""The share of the error for each upper bound of a count; a lower one gets the rest of a half. Few examples change, and
then the upper bounds decide."""
UNDECIDED, SMALLER, WITHIN, LARGER = range(4)
DECISIONS = ("undecided", "smaller", "within", "larger")


def plan_looks(examples: int) -> tuple[int, list[int]]:
    """The size of a unit, and after how many units each round ends: the last one after all.

    >>> plan_looks(438)
    (64, [1, 2, 3, 4, 7])
    >>> plan_looks(20)
    (20, [1])
    """
    size = min(examples, max(FIRST, -(-examples // PARTS)))
    units = -(-examples // size)
    ends = [1]
    while ends[-1] < units:
        ends.append(min(units, max(ends[-1] + 1, round(ends[-1] * GROWTH))))
    if len(ends) > 1 and units - ends[-2] < ends[-2] / 4:
        del ends[-2]  # a look that leaves so little is not worth its share of the error
    return size, ends


def share_of_error(looks: int) -> float:
    """The error that each look may have: the last one sees all examples and has none."""
    return ERROR / max(1, looks - 1)


def accuracy_bounds(
    lost: np.ndarray, won: np.ndarray, seen: int, population: int, error: float
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds [V] of the change in accuracy on all examples, for counts of those that became wrong and right so far.

    Exact: hypergeometric bounds of how many examples become right and how many become wrong, with the error divided
    among them.

    >>> low, high = accuracy_bounds(np.array([20]), np.array([2]), 200, 400, 0.01)
    >>> low.tolist(), high.tolist()
    ([-0.1425], [-0.0275])
    """
    least = [least_in_population(count, seen, population, 1 - (0.5 - MOSTLY) * error) for count in (won, lost)]
    most = [most_in_population(count, seen, population, 1 - MOSTLY * error) for count in (won, lost)]
    return (least[0] - most[1]) / population, (most[0] - least[1]) / population


def mean_bounds(
    changes: np.ndarray, weights: np.ndarray, population: int, error: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds [V] of the change of a weighted mean on all examples, for changes of sums [V, n] and weights [n].

    The bootstrap-t of `core/mean_changes.py`, with one more extreme example on either side, narrower by the root of the
    share of examples that are not seen yet (the correction for finite populations). It is approximate, and becomes
    exact as examples run out.
    """
    unseen = 1 - changes.shape[1] / population
    if unseen <= 0:
        delta = changes.sum(1) / weights.sum()
        return delta, delta
    delta, low, high = careful_interval_of(changes, weights, 1 - error, seed)
    shrink = float(np.sqrt(unseen))
    return delta - shrink * (delta - low), delta + shrink * (high - delta)


def decide(low: np.ndarray, high: np.ndarray, margin: float) -> np.ndarray:
    """For intervals of changes: the codes of DECISIONS. On the margin counts as within.

    >>> [DECISIONS[code] for code in decide(np.array([-3, -1, 1.5, 0]), np.array([-2, 1, 2, 4]), 1)]
    ['smaller', 'within', 'larger', 'undecided']
    """
    edge = margin + 1e-12
    inside = (low >= -edge) & (high <= edge)
    return np.select([high < -edge, low > edge, inside], [SMALLER, LARGER, WITHIN], UNDECIDED)


def round_order(lengths: np.ndarray, ends: Sequence[int], seed: int) -> np.ndarray:
    """The examples in random order, cut into rounds that end at `ends`, each round from long to short."""
    shuffled = np.random.default_rng(seed).permutation(len(lengths))
    rounds = np.split(shuffled, list(ends[:-1]))
    return np.concatenate([rows[np.argsort(-lengths[rows], kind="stable")] for rows in rounds])
