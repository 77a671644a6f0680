"""The share of the difference between two inputs that a patched head brings: 0 is the corrupted one, 1 the clean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount.core.score_tables import ScoreTable
from headcount.core.statistics import bootstrap, interval


@dataclass(frozen=True)
class Shares:
    """`per_choice`: share, share_low, share_high [choice]; empty where the inputs do not differ enough for a ratio.

    `overall`: the scores of both inputs and their difference, with intervals. `toward`: whether the score of the input
    that gives is the higher one.
    """

    per_choice: dict[str, np.ndarray]
    overall: dict[str, float]
    toward: bool


def summarise_shares(table: ScoreTable, denoise: bool, seed: int = 0) -> Shares:
    """Shares from the scores of the input that is run (first), of each choice, and of the input that gives (last).

    A ratio is left out unless the difference of the two inputs has the same sign in every bootstrap resample of the
    examples: its interval would have no meaning where the denominator may be 0.
    """
    scores, resampled = table.scores(np.ones((1, table.examples))), bootstrap(table, seed=seed)
    clean, corrupted = (-1, 0) if denoise else (0, -1)
    difference = resampled[:, clean] - resampled[:, corrupted]
    overall: dict[str, float] = {}
    for name, value, samples in (
        ("clean", scores[0, clean], resampled[:, clean]),
        ("corrupted", scores[0, corrupted], resampled[:, corrupted]),
        ("difference", scores[0, clean] - scores[0, corrupted], difference),
    ):
        low, high = interval(samples)
        overall |= {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}
    toward = bool(scores[0, -1] > scores[0, 0])
    if not ((difference > 0).all() or (difference < 0).all()):
        return Shares({}, overall, toward)
    share = (scores[0, 1:-1] - scores[0, corrupted]) / overall["difference"]
    low, high = interval((resampled[:, 1:-1] - resampled[:, [corrupted]]) / difference[:, None])
    return Shares({"share": share, "share_low": low, "share_high": high}, overall, toward)
