"""How does the score of a model differ from that of another on the same examples? With the interval of its metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.ablation.evidence import AnyMetric, evidence_of
from headcount.ablation.summary import table_of
from headcount.core.statistics import bootstrap, interval, permutation_test
from headcount.data.kinds.kind import Kind

Estimate = tuple[float, float, float]
"""A number and the ends of its 95 % interval."""


@dataclass(frozen=True)
class PairedScores:
    """The score of the first model, and of each other one its score and its change from the first."""

    whole: Estimate
    scores: tuple[float, ...]
    changes: tuple[Estimate, ...]


def compare_scores(outputs: list[Any], labels: Any, metric: AnyMetric, kind: Kind, seed: int = 0) -> PairedScores:
    """Compare what several models give for the same examples, the first of them with each of the others."""
    changes = score_changes(outputs, labels, metric, kind, seed)
    ends = zip(changes["delta"], changes["low"], changes["high"], strict=True)
    return PairedScores(
        (float(changes["baseline"]), float(changes["baseline_low"]), float(changes["baseline_high"])),
        tuple(map(float, changes["score"])),
        tuple((float(change), float(low), float(high)) for change, low, high in ends),
    )


def score_changes(
    outputs: list[Any], labels: Any, metric: AnyMetric, kind: Kind, seed: int = 0
) -> dict[str, np.ndarray]:
    """`score`, `delta`, `low`, `high`, `bound_low`, `bound_high` and `p` of all models but the first, as a curve has
    them, and of the first `baseline` with its interval."""
    table = table_of(outputs, labels, metric, kind)
    scores = table.scores(np.ones((1, table.examples)))[0]
    resampled = bootstrap(table, seed=seed)
    evidence = evidence_of(table, outputs, labels, metric, resampled, *permutation_test(table, seed), seed).per_choice
    low, high = interval(resampled[:, 0])
    return {
        "score": scores[1:],
        "delta": scores[1:] - scores[0],
        **{key: evidence[key] for key in ("low", "high", "bound_low", "bound_high", "p")},
        "baseline": scores[0],
        "baseline_low": low,
        "baseline_high": high,
    }
