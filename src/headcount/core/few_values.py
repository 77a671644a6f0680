"""Intervals from few values, such as the scores of five seeds: of a mean, and of the ratio of two means."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

LEAST = 3
"""With fewer values no interval is given: that of two values spans six times their distance on either side."""
NONE = (float("nan"), float("nan"))


def t_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean; NaN for fewer than three values.

    >>> [round(end, 3) for end in t_interval(np.array([0.6, 0.7, 0.8]))]
    [0.452, 0.948]
    """
    if len(values) < LEAST:
        return NONE
    half = _quantile(len(values), level) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def ratio_interval(top: np.ndarray, bottom: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Fieller's interval of mean(top) / mean(bottom) for paired values.

    A ratio r is in it if the mean of top - r * bottom is compatible with 0 (Student's test). NaN for fewer than three
    pairs, and if the mean of `bottom` itself is compatible with 0: then the ratio has no bounds.

    >>> [round(end, 2) for end in ratio_interval(np.array([0.1, 0.12, 0.11]), np.array([0.2, 0.21, 0.22]))]
    [0.42, 0.63]
    """
    if len(top) < LEAST:
        return NONE
    square = _quantile(len(top), level) ** 2 / len(top)
    x, y = float(top.mean()), float(bottom.mean())
    (xx, xy), (_, yy) = np.cov(top, bottom, ddof=1) * square
    a, b, c = y * y - yy, x * y - xy, x * x - xx
    if a <= 0:
        return NONE
    root = np.sqrt(max(0.0, b * b - a * c))
    return float((b - root) / a), float((b + root) / a)


def _quantile(count: int, level: float) -> float:
    return float(t.ppf((1 + level) / 2, count - 1))
