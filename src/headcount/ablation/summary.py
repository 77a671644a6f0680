"""The statistics of a sweep: scores, changes, intervals, tests, and what the best choice gains on held-out examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices
from headcount.ablation.evidence import AnyMetric, evidence_of, loss_evidence
from headcount.ablation.screened import missed_effects
from headcount.core.score_tables import Calls, ScoreTable, Sums
from headcount.core.statistics import bootstrap, false_discovery, honest_gain, interval, permutation_test
from headcount.core.sweep_schemas import sweep_schemas
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.metrics import Metric
from headcount.errors import NotFinite

Summary = dict[str, tuple[Any, ...]]


def summarise_sweep(
    choices: Choices,
    baseline: Mapping[str, np.ndarray],
    variants: Mapping[str, np.ndarray],
    labels: Any,
    metric: AnyMetric,
    kind: Kind,
    seed: int = 0,
) -> Summary:
    """The statistics of a sweep as named arrays: those of each choice along the axes of the choices.

    `score`, `delta` (against `baseline`) with its 95 % interval `low` to `high` and its one-sided 95 % bounds
    `bound_low` and `bound_high`, `p` by the test that `ablation/evidence.py` names, `q` (Benjamini and Hochberg).
    Classifiers also get the effect on the loss, `loss_delta` and so on. `mean_delta`: the effect of a random choice.
    `above`: the number of choices that score better than the baseline; `above_chance`: the number expected if ablation
    changed nothing. `naive_gain`: of the best choice on the examples that selected it; `honest_gain`: on held-out
    examples, with the range of 95 % of the splits.

    Of screened heads, those that were not run count as tests with p = 1 in every q, so that their selection on the
    same examples cannot make a q too small. There is no `mean_delta` (those that ran are no random sample), but
    `missed_effect`, `missed_control` and `missed_high` (`ablation/screened.py`).
    """
    screened = choices.screened
    tests = None if screened is None else screened.of
    by_choice = [{key: values[number] for key, values in variants.items()} for number in range(len(choices.sets))]
    outputs = [kind.outputs(arrays) for arrays in (baseline, *by_choice)]
    table = table_of(outputs, labels, metric, kind)
    higher = metric.higher_is_better if isinstance(metric, Metric) else True
    sign = 1 if higher else -1
    scores = table.scores(np.ones((1, table.examples)))[0]
    _check_scores(scores, choices, metric)
    delta = scores[1:] - scores[0]
    resampled = bootstrap(table, seed=seed)
    tested, exchanged = permutation_test(table, seed)
    evidence = evidence_of(table, outputs, labels, metric, resampled, tested, exchanged, seed, tests)
    whole, *without = [kind.predictions(output) for output in outputs]
    same = np.array([_same(whole, predictions) for predictions in without])
    gain = honest_gain(table, higher, seed=seed)
    chance = (sign * exchanged > 1e-12).sum(1)
    chance_low, chance_high = interval(chance)
    base_low, base_high = interval(resampled[:, 0])
    per_choice = {
        "score": scores[1:],
        "delta": delta,
        **evidence.per_choice,
        "q": false_discovery(evidence.per_choice["p"], tests),
        "unchanged": same.astype(float),
        **loss_evidence(outputs, labels, metric, kind, seed, tests),
    }
    overall = {
        "baseline": scores[0],
        "baseline_low": base_low,
        "baseline_high": base_high,
        **(
            {"mean_delta": float(delta.mean()), **evidence.mean}
            if screened is None
            else missed_effects(choices, screened, delta, evidence.per_choice["p"])
        ),
        "above": float((sign * delta > 1e-12).sum()),
        "above_chance": chance.mean(),
        "above_chance_low": chance_low,
        "above_chance_high": chance_high,
        "naive_gain": gain.naive,
        "honest_gain": gain.honest,
        "honest_gain_low": gain.low,
        "honest_gain_high": gain.high,
    }
    arrays: Summary = {name: (choices.dims, choices.arrange(list(values))) for name, values in per_choice.items()}
    arrays |= {name: ((), np.asarray(float(value))) for name, value in overall.items()}
    arrays["best"] = ((), np.asarray(choices.names()[gain.best], dtype=object))
    for name, schema in sweep_schemas(metric_name(metric), higher, choices.by).items():
        if name in arrays:
            arrays[name] = (*arrays[name], schema.attributes())
    return arrays


def metric_name(metric: AnyMetric) -> str:
    return metric.name if isinstance(metric, Metric) else getattr(metric, "__name__", "the metric")


def _check_scores(scores: np.ndarray, choices: Choices, metric: AnyMetric) -> None:
    """An error where a score is not finite, though the outputs are: a custom metric, a perplexity that overflows."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        which = "the whole model" if bad[0] == 0 else f"the model without {choices.names()[bad[0] - 1]}"
        raise NotFinite(
            f"{metric_name(metric)} of {which} is {scores[bad[0]]} ({len(bad)} of {len(scores)} scores are not "
            "finite); give another metric, or more examples"
        )


def table_of(outputs: list[dict[str, Any]], labels: Any, metric: AnyMetric, kind: Kind) -> ScoreTable:
    """The scores of the outputs, the first of which are the baseline's, for any weights of the examples."""
    if isinstance(metric, Metric):
        # Each resample of a corpus score takes sacrebleu's own formula, which is slow: fewer of them.
        draws = 2000 if metric.generated else 10_000
        return Sums(np.stack([metric.features(output, labels) for output in outputs]), metric.combine, draws)
    return Calls([kind.predictions(output) for output in outputs], labels, metric)


def _same(first: Any, second: Any) -> float:
    """The share of examples whose prediction is the same as the baseline's."""
    return float(np.mean([np.array_equal(a, b) for a, b in zip(first, second, strict=True)]))
