"""The definitions of "significant", "within tolerance", "confirmed", "settled", "stands out", "redundant" and roles."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite
from typing import Literal

import numpy as np
import xarray as xr
from scipy.stats import norm

LEVEL = 0.05
"""Significant: a q-value (corrected for the number of heads, layers or sets tested) below this."""
CONFIDENCE = 0.95
"""The one-sided confidence level of the bounds that are compared with a tolerance."""
MOST_EXAMPLES = 1e12
"""More examples than anybody has."""
POWER = 0.8
"""The statistical power for which the number of examples needed is computed."""
SETTLED = 0.9
"""An order of heads is settled once its rank correlation with the final order is at least this."""
SYNTACTIC = 0.10
"""A head is syntactic if it follows a relation at least this much better than the best offset (Voita et al. 2019)."""
NEITHER, REDUNDANT, SYNERGISTIC = range(3)
KINDS = ("no significant interaction", "redundant", "synergistic")
"""What a pair of heads is, by these codes."""
ROLES = ("facilitating", "interfering", "irrelevant")
"""The roles of heads by gates (Nam et al. 2025), each with a score from 0 to 1."""
ROLE_FROM = 0.5
"""A head has a role if the role's score is above this in every seed."""
HURTS_FROM = 1.0
"""Irrelevant heads do not hurt if the loss without them rises by no more than this many points."""
STANDS_OUT = 0.05
"""A head stands out by a measure if it is among this share of heads, those with the largest values (`stands_out`)."""
Verdict = Literal["confirmed", "refuted", "too few examples to tell"]


def significant(q: np.ndarray) -> np.ndarray:
    """Whether each q-value is significant; NaN is not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(q) & (q < LEVEL))


def kind_of_pair(interaction: np.ndarray, q: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """The codes of KINDS for interactions, the effect of both heads minus the sum of their effects.

    Redundant: without both heads the score is worse than the sum of the effects says, significantly: each covers for
    the other. Synergistic: it is better than the sum says, significantly: one of them does little without the other.

    >>> kind_of_pair(np.array([-0.2, -0.2, 0.2]), np.array([0.01, 0.5, 0.01]), True).tolist()
    [1, 0, 2]
    """
    worse = (interaction < 0) == higher_is_better
    return np.where(significant(q) & (interaction != 0), np.where(worse, REDUNDANT, SYNERGISTIC), NEITHER)


def stands_out(value: float, low: float, values: np.ndarray) -> bool:
    """Whether a head stands out by a measure, from its value, the low end of its interval and the values of all heads.

    Its value is the largest or among the largest 5 %, and its interval lies above the median head.

    >>> stands_out(0.9, 0.8, np.array([0.1, 0.2, 0.9])), stands_out(0.9, 0.1, np.array([0.1, 0.2, 0.9]))
    (True, False)
    """
    values = values[np.isfinite(values)]
    if len(values) < 2 or not isfinite(low):
        return False
    allowed = max(1, int(STANDS_OUT * len(values)))
    return bool((values >= value).sum() <= allowed and low > np.median(values))


def tolerance_of(points: float, metric: str, baseline: float) -> float:
    """A tolerance given in points, in the metric's own unit.

    A point is 0.01 of a score from 0 to 1, one point of BLEU or chrF, 0.01 nats of a loss, and one percent of a
    perplexity, which is nearly the same.

    >>> tolerance_of(1, "accuracy", 0.9), tolerance_of(1, "bleu", 30), tolerance_of(2, "perplexity", 15)
    (0.01, 1.0, 0.3)
    """
    unit = {"bleu": 1.0, "chrf": 1.0, "perplexity": 0.01 * baseline}.get(metric, 0.01)
    return points * unit


def find_role(scores: np.ndarray) -> np.ndarray:
    """[...] from scores [role, seed, ...]: the number of the role that all seeds agree on, or of none of them.

    Gates that end lower when they are pushed up than when they are pushed down would have two roles: they have none.
    NaN where there is no head.

    >>> find_role(np.array([[[0.9, 0.9]], [[0.1, 0.8]], [[0.0, 0.0]]])).tolist()
    [0.0, 3.0]
    """
    with np.errstate(invalid="ignore"):
        agreed = (scores > ROLE_FROM).all(1)
    role = np.where(agreed.sum(0) == 1, agreed.argmax(0), len(ROLES)).astype(float)
    role[np.isnan(scores).any((0, 1))] = np.nan
    return role


def judge_role(role: str, low: float, high: float) -> Verdict:
    """What held-out examples say about heads of a role, from the 95 % interval of the change of the loss without them.

    Without interfering heads the loss must fall; without irrelevant ones it must not rise by more than a point.

    >>> judge_role("interfering", -0.2, -0.1), judge_role("irrelevant", -0.001, 0.2)
    ('confirmed', 'too few examples to tell')
    """
    if role == "interfering":
        return "confirmed" if high < 0 else "refuted" if low >= 0 else "too few examples to tell"
    tolerance = tolerance_of(HURTS_FROM, "loss", 0.0)
    return "confirmed" if high <= tolerance else "refuted" if low > tolerance else "too few examples to tell"


@dataclass(frozen=True)
class Cut:
    """How many heads to remove; `count` is 0 if no step of the curve qualifies."""

    count: int
    by_estimate: int
    """The count that the point estimates alone would give."""
    needed: int | None
    """If no step can be shown to be within the tolerance: how many examples it would take to show it for the first."""


def choose_cut(curve: xr.Dataset, order: str, points: float, by_estimate: bool = False) -> Cut:
    """The largest cut of a curve that is within the tolerance.

    A cut is within it if the one-sided 95 % confidence bound of its change is or, with `by_estimate`, if the change
    itself is. Cuts beyond one that is significantly outside are not considered.
    """
    change, worst, best = oriented_changes(curve, order)
    allowed = tolerance_of(points, curve.attrs["metric"], float(curve["baseline"]))
    counts = curve["removed"].values.astype(int)
    outside = np.flatnonzero(best < -allowed - 1e-12)
    inside = (np.arange(len(counts)) < outside[0]) if len(outside) else np.ones(len(counts), dtype=bool)
    inside &= counts < int(curve.attrs["heads"])

    def largest(values: np.ndarray) -> int:
        return int(max(counts[inside & (values >= -allowed - 1e-12)], default=0))

    shown, estimated = largest(worst), largest(change)
    needed = None if shown else examples_needed(curve, order, int(counts[0]), points)
    return Cut(estimated if by_estimate else shown, estimated, needed)


def judge_cut(curve: xr.Dataset, order: str, count: int, points: float) -> Verdict:
    """What held-out examples say about a cut: confirmed or refuted at one-sided 95 % confidence, or neither."""
    worst, best = _bounds(curve, order, count)
    return judge_bounds(worst, best, tolerance_of(points, curve.attrs["metric"], float(curve["baseline"])))


def choose_step(curve: xr.Dataset, order: str, points: float, by_estimate: bool = False) -> int | None:
    """The last step of a curve of ever smaller models that is within the tolerance; None if there is none.

    A step is within it if the one-sided 95 % confidence bound of its change is or, with `by_estimate`, if the change
    itself is. Steps beyond one that is significantly outside are not considered.
    """
    change, worst, best = oriented_changes(curve, order)
    allowed = tolerance_of(points, curve.attrs["metric"], float(curve["baseline"]))
    outside = np.flatnonzero(best < -allowed - 1e-12)
    last = outside[0] if len(outside) else len(change)
    with np.errstate(invalid="ignore"):
        inside = np.flatnonzero((change if by_estimate else worst)[:last] >= -allowed - 1e-12)
    return int(inside[-1]) if len(inside) else None


def judge_step(curve: xr.Dataset, order: str, step: int, points: float) -> Verdict:
    """What held-out examples say about a step: confirmed or refuted at one-sided 95 % confidence, or neither."""
    _, worst, best = oriented_changes(curve, order)
    allowed = tolerance_of(points, curve.attrs["metric"], float(curve["baseline"]))
    return judge_bounds(float(worst[step]), float(best[step]), allowed)


def judge_bounds(worst: float, best: float, allowed: float = 0.0) -> Verdict:
    """What the one-sided bounds of a change (below 0 is worse) say about a tolerance in the same unit."""
    if worst >= -allowed - 1e-12:
        return "confirmed"
    return "refuted" if best < -allowed - 1e-12 else "too few examples to tell"


def examples_needed(curve: xr.Dataset, order: str, count: int, points: float) -> int | None:
    """How many examples would show (80 % power) that a cut is within the tolerance if it truly changes nothing.

    Estimated from the spread of the examples at hand; None if no number would be enough.
    """
    allowed = tolerance_of(points, curve.attrs["metric"], float(curve["baseline"]))
    return examples_for(*_bounds(curve, order, count), allowed, int(curve.attrs["examples"]))


def examples_for(worst: float, best: float, allowed: float, examples: int) -> int | None:
    """The same from the one-sided bounds of a change on so many examples, and a tolerance in the metric's own unit."""
    if allowed <= 0 or not isfinite(best - worst):
        return None
    error = (best - worst) / 2 / float(norm.ppf(CONFIDENCE))
    share = (float(norm.ppf(CONFIDENCE)) + float(norm.ppf(POWER))) * error / allowed
    needed = examples * share * share
    return max(examples + 1, ceil(needed)) if needed < MOST_EXAMPLES else None


def _bounds(curve: xr.Dataset, order: str, count: int) -> tuple[float, float]:
    """The one-sided bounds of the change without `count` heads, the worse first."""
    step = int(np.flatnonzero(curve["removed"].values == count)[0])
    _, worst, best = oriented_changes(curve, order)
    return float(worst[step]), float(best[step])


def settled_at(dynamics: xr.Dataset) -> int | None:
    """The first checkpoint from which on the order of heads is settled; the last one does not count."""
    agrees = dynamics["agreement"].values >= SETTLED
    for number in range(len(agrees) - 1):
        if agrees[number:].all():
            return int(dynamics["checkpoint"].values[number])
    return None


def oriented_changes(curve: xr.Dataset, order: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The change of every step and its one-sided bounds, the worse first; positive is better."""
    steps = curve.sel(order=order)
    change, low, high = (steps[name].values for name in ("delta", "bound_low", "bound_high"))
    return (change, low, high) if curve.attrs.get("higher_is_better", True) else (-change, -high, -low)
