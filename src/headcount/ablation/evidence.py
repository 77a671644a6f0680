"""How sure a change in score is: the test and the interval that hold for its kind of metric.

| metric | test | null hypothesis | interval |
|---|---|---|---|
| accuracy | McNemar, exact | changed examples become right as often as wrong | Tango's score interval |
| loss, perplexity | bootstrap-t (`core/mean_changes.py`) | the mean change of the loss is zero | bootstrap-t |
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


@dataclass(frozen=True)
class Evidence:
    """`per_choice`: p, low, high, bound_low, bound_high [choice]. `mean`: the same of the mean change, by name."""

    per_choice: dict[str, np.ndarray]
    mean: dict[str, float]


def which_test(metric: Metric | Callable[[Any, Any], float]) -> str:
    """Which test a sweep of this metric gets."""
    if not isinstance(metric, Metric):
        return "permutation"
    if metric.correct is not None:
        return "mcnemar"
    return "bootstrap-t" if metric.mean else "permutation"


def evidence_of(
    table: ScoreTable,
    outputs: list[dict[str, Any]],
    labels: Any,
    metric: Metric | Callable[[Any, Any], float],
    resampled: np.ndarray,
    tested: np.ndarray,
    exchanged: np.ndarray,
    seed: int,
) -> Evidence:
    """From the bootstrap `resampled` [draw, 1 + choice] and the permutations `tested`, `exchanged` [draw, choice]."""
    changes = resampled[:, 1:] - resampled[:, :1]
    low, high = interval(changes)
    bound_low, bound_high = interval(changes, 0.90)
    means = _permuted_mean(changes, exchanged, table)
    if isinstance(metric, Metric) and metric.correct is not None:
        right = np.stack([metric.correct(one, labels) for one in outputs])
        lost, won = count_changes(right[0], right[1:])
        low, high = tango_interval(lost, won, table.examples, 0.95)
        bound_low, bound_high = tango_interval(lost, won, table.examples, 0.90)
        return Evidence(_named(mcnemar(right[0], right[1:]), low, high, bound_low, bound_high), means)
    if isinstance(metric, Metric) and metric.mean and isinstance(table, Sums):
        return _mean_evidence(table, metric, seed)
    if "logits" in outputs[0] and outputs[0]["logits"].shape[-1] > 1:
        # A resample of predictions that did not change says nothing of those that might: no bound is tighter than
        # that of an accuracy without a change.
        least = float(norm.ppf(0.95)) ** 2
        least /= table.examples + least
        bound_low, bound_high = np.minimum(bound_low, -least), np.maximum(bound_high, least)
    return Evidence(_named(tested, low, high, bound_low, bound_high), means)


def loss_evidence(
    outputs: list[dict[str, Any]], labels: Any, metric: Metric | Callable[[Any, Any], float], kind: Kind, seed: int
) -> dict[str, np.ndarray]:
    """The effect on a classifier's loss, which shows changes that turn no prediction; nothing for other models.

    `loss_delta` with interval, `loss_p` and `loss_q` (bootstrap-t: the mean), `loss_rank_p` and `loss_rank_q`
    (Wilcoxon's signed ranks: many small changes in one direction).
    """
    loss = next((one for one in kind.metrics if one.name == "loss"), None)
    if loss is None or "logits" not in outputs[0] or not isinstance(metric, Metric) or metric.mean:
        return {}
    losses = np.stack([loss.features(one, labels)[:, 0] for one in outputs])
    changes = losses[1:] - losses[0]
    found, ranked = mean_changes(changes, np.ones(changes.shape[1]), seed), signed_rank(changes)
    return {
        "loss_delta": found.delta,
        "loss_low": found.low,
        "loss_high": found.high,
        "loss_p": found.p,
        "loss_q": false_discovery(found.p),
        "loss_rank_p": ranked,
        "loss_rank_q": false_discovery(ranked),
    }


def _mean_evidence(table: Sums, metric: Metric, seed: int) -> Evidence:
    sums, weights = table.features[..., 0], table.features[0, :, 1]
    changes = sums[1:] - sums[0]
    # The last row is the mean over the choices: the effect of a random one.
    found = mean_changes(np.concatenate([changes, changes.mean(0, keepdims=True)]), weights, seed)
    ends = {name: getattr(found, name) for name in ("low", "high", "bound_low", "bound_high")}
    if metric.name == "perplexity":
        # Its change follows from that of the loss, at the baseline that was measured.
        base = float(np.exp(sums[0].sum() / weights.sum()))
        ends = {name: base * np.expm1(values) for name, values in ends.items()}
    mean = {"mean_delta_low": ends["low"][-1], "mean_delta_high": ends["high"][-1], "mean_delta_p": found.p[-1]}
    return Evidence({"p": found.p[:-1], **{name: values[:-1] for name, values in ends.items()}}, mean)


def _permuted_mean(changes: np.ndarray, exchanged: np.ndarray, table: ScoreTable) -> dict[str, float]:
    """The mean over the choices, by the paired bootstrap and the permutation test."""
    low, high = interval(changes.mean(1))
    observed = abs(float(table.exchanged(np.zeros((1, table.examples)))[0].mean()))
    p = (1 + (np.abs(exchanged.mean(1)) >= observed - 1e-12).sum()) / (1 + len(exchanged))
    return {"mean_delta_low": float(low), "mean_delta_high": float(high), "mean_delta_p": float(p)}


def _named(*arrays: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(("p", "low", "high", "bound_low", "bound_high"), arrays, strict=True))
