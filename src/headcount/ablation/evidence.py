"""The test and the confidence interval of a change in score, by the kind of its metric.

| metric | test | null hypothesis | interval |
|---|---|---|---|
| accuracy | McNemar, exact | changed examples become right as often as wrong | Tango's score interval |
| loss, log-probability, ... | bootstrap-t (`core/mean_changes.py`) | the mean change is zero | bootstrap-t |
| all others | paired permutations | with and without the heads are interchangeable | paired bootstrap, percentiles |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from headcount.core.mean_changes import mean_changes, signed_rank
from headcount.core.proportions import count_changes, mcnemar, tango_interval
from headcount.core.score_tables import ScoreTable, Sums
from headcount.core.statistics import false_discovery, interval
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.metrics import Metric
from headcount.data.kinds.ranking import SCORES

AnyMetric = Metric | Callable[[Any, Any], float]
"""A metric of a kind of task, or a user's function of predictions and labels."""


@dataclass(frozen=True)
class Evidence:
    """`per_choice`: p, low, high, bound_low, bound_high [choice]. `mean`: the same of the mean change, by name."""

    per_choice: dict[str, np.ndarray]
    mean: dict[str, float]


def which_test(metric: AnyMetric, draws: int = 1) -> str:
    """The name of the test for the changes of a metric, which may be a mean over several draws."""
    if not isinstance(metric, Metric):
        return "permutation"
    if draws > 1 and metric.correct is not None:
        return "permutation"  # a share of the draws is right, not an example
    if metric.correct is not None:
        return "mcnemar"
    return "bootstrap-t" if metric.mean else "permutation"


def evidence_of(
    table: ScoreTable,
    outputs: list[dict[str, Any]],
    labels: Any,
    metric: AnyMetric,
    resampled: np.ndarray,
    tested: np.ndarray,
    exchanged: np.ndarray,
    seed: int,
    tests: int | None = None,
    drawn: bool = False,
) -> Evidence:
    """The evidence for the change of each choice; `tests`: how many p-values are corrected together, if more.

    `drawn`: whether the features are means over several draws, so that no example is simply right or wrong.

    From the bootstrap `resampled` [draw, 1 + choice], and from the permutation test its p-values `tested` [choice] and
    changes `exchanged` [draw, choice].
    """
    changes = resampled[:, 1:] - resampled[:, :1]
    low, high = interval(changes)
    bound_low, bound_high = interval(changes, 0.90)
    means = _permuted_mean(changes, exchanged, table)
    if isinstance(metric, Metric) and metric.correct is not None and not drawn:
        right = np.stack([metric.correct(output, labels) for output in outputs])
        lost, won = count_changes(right[0], right[1:])
        low, high = tango_interval(lost, won, table.examples, 0.95)
        bound_low, bound_high = tango_interval(lost, won, table.examples, 0.90)
        return Evidence(_named(mcnemar(right[0], right[1:]), low, high, bound_low, bound_high), means)
    if isinstance(metric, Metric) and metric.mean and isinstance(table, Sums):
        return _mean_evidence(table, metric, seed, tests)
    if SCORES in outputs[0] or ("logits" in outputs[0] and outputs[0]["logits"].shape[-1] > 1):
        # Resampling predictions that did not change says nothing about those that might: no bound may be tighter than
        # that of an accuracy without a change.
        least = float(norm.ppf(0.95)) ** 2
        least /= table.examples + least
        bound_low, bound_high = np.minimum(bound_low, -least), np.maximum(bound_high, least)
    return Evidence(_named(tested, low, high, bound_low, bound_high), means)


def loss_evidence(
    outputs: list[list[dict[str, Any]]],
    labels: Any,
    metric: AnyMetric,
    kind: Kind,
    seed: int,
    tests: int | None = None,
) -> dict[str, np.ndarray]:
    """The effect on the loss of a classifier or a ranking, which also shows changes that flip no prediction or rank.

    Empty for other models.

    `loss_delta` with its interval, `loss_p` and `loss_q` (bootstrap-t of the mean), `loss_rank_p` and `loss_rank_q`
    (Wilcoxon's signed-rank test, sensitive to many small changes in one direction).
    """
    loss = next((known for known in kind.metrics if known.name == "loss"), None)
    if loss is None or not {"logits", SCORES} & {*outputs[0][0]} or not isinstance(metric, Metric) or metric.mean:
        return {}
    losses = np.stack([drawn_features(loss, draws, labels)[:, 0] for draws in outputs])
    changes = losses[1:] - losses[0]
    mean, rank_p = mean_changes(changes, np.ones(changes.shape[1]), seed, tests), signed_rank(changes)
    return {
        "loss_delta": mean.delta,
        "loss_low": mean.low,
        "loss_high": mean.high,
        "loss_p": mean.p,
        "loss_q": false_discovery(mean.p, tests),
        "loss_rank_p": rank_p,
        "loss_rank_q": false_discovery(rank_p, tests),
    }


def drawn_features(metric: Metric, draws: list[dict[str, Any]], labels: Any) -> np.ndarray:
    """The features [example, k] of a metric, as means over the draws."""
    return np.asarray(np.mean([metric.features(output, labels) for output in draws], axis=0))


def _mean_evidence(table: Sums, metric: Metric, seed: int, tests: int | None = None) -> Evidence:
    """The evidence for a metric that is a mean over examples, or a perplexity."""
    sums, weights = table.features[..., 0], table.features[0, :, 1]
    changes = sums[1:] - sums[0]
    # The last row is the mean over the choices: the effect of a random one.
    tested = mean_changes(np.concatenate([changes, changes.mean(0, keepdims=True)]), weights, seed, tests)
    ends = {name: getattr(tested, name) for name in ("low", "high", "bound_low", "bound_high")}
    if metric.name == "perplexity":
        # Its change follows from that of the loss, at the measured baseline.
        base = float(np.exp(sums[0].sum() / weights.sum()))
        ends = {name: base * np.expm1(values) for name, values in ends.items()}
    mean = {"mean_delta_low": ends["low"][-1], "mean_delta_high": ends["high"][-1], "mean_delta_p": tested.p[-1]}
    return Evidence({"p": tested.p[:-1], **{name: values[:-1] for name, values in ends.items()}}, mean)


def _permuted_mean(changes: np.ndarray, exchanged: np.ndarray, table: ScoreTable) -> dict[str, float]:
    """The evidence for the mean over the choices, by the paired bootstrap and the permutation test."""
    low, high = interval(changes.mean(1))
    observed = abs(float(table.exchanged(np.zeros((1, table.examples)))[0].mean()))
    p = (1 + (np.abs(exchanged.mean(1)) >= observed - 1e-12).sum()) / (1 + len(exchanged))
    return {"mean_delta_low": float(low), "mean_delta_high": float(high), "mean_delta_p": float(p)}


def _named(*arrays: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(("p", "low", "high", "bound_low", "bound_high"), arrays, strict=True))
