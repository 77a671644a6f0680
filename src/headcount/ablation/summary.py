"""The statistics of a sweep: scores, changes, intervals, tests, and what the best choice gains on held-out examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices
from headcount.ablation.evidence import AnyMetric, drawn_features, evidence_of, loss_evidence
from headcount.ablation.hows import Patch, Resample, Spec
from headcount.ablation.screened import missed_effects
from headcount.ablation.shares import summarise_shares
from headcount.core.score_tables import Calls, ScoreTable, Sums
from headcount.core.statistics import bootstrap, false_discovery, honest_gain, interval, permutation_test
from headcount.core.sweep_schemas import patch_schemas, path_schemas, sweep_schemas
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
    given: Mapping[str, np.ndarray] | None = None,
    spec: Spec | None = None,
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

    With `given`, the outputs on the other input of each pair, there are the scores of both inputs and the `share` of
    their difference that each choice brings (`ablation/shares.py`). With several draws, all
    numbers are means over them.
    """
    screened = choices.screened
    tests = None if screened is None else screened.of
    outputs = [[kind.outputs(baseline)], *_by_choice(choices, variants, kind, spec)]
    drawn = len(outputs[-1]) > 1
    table = drawn_table(outputs, labels, metric, kind)
    higher = metric.higher_is_better if isinstance(metric, Metric) else True
    sign = 1 if higher else -1
    scores = table.scores(np.ones((1, table.examples)))[0]
    check_scores(scores, choices, metric)
    delta = scores[1:] - scores[0]
    resampled = bootstrap(table, seed=seed)
    tested, exchanged = permutation_test(table, seed)
    first = [draws[0] for draws in outputs]
    evidence = evidence_of(table, first, labels, metric, resampled, tested, exchanged, seed, tests, drawn)
    whole = kind.predictions(outputs[0][0])
    same = np.array([np.mean([same_predictions(whole, kind.predictions(one)) for one in each]) for each in outputs[1:]])
    shares, toward = None, higher
    if given and isinstance(spec, Patch):
        both = drawn_table([*outputs, [kind.outputs(given)]], labels, metric, kind)
        shares = summarise_shares(both, spec.direction == "denoise", seed)
        toward = shares.toward
    gain = honest_gain(table, toward, seed=seed)
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
        **({} if shares is None else shares.per_choice),
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
        **({} if shares is None else shares.overall),
    }
    arrays: Summary = {name: (choices.dims, choices.arrange(list(values))) for name, values in per_choice.items()}
    arrays |= {name: ((), np.asarray(float(value))) for name, value in overall.items()}
    arrays["best"] = ((), np.asarray(choices.names()[gain.best], dtype=object))
    schemas = sweep_schemas(metric_name(metric), higher, choices.by)
    if shares is not None:
        assert isinstance(spec, Patch)
        schemas |= patch_schemas(metric_name(metric), spec.direction, spec.part, spec.positions, choices.by)
    if choices.by == "path":
        schemas |= path_schemas(metric_name(metric))
    for name, schema in schemas.items():
        if name in arrays:
            arrays[name] = (*arrays[name], schema.attributes())
    return arrays


def _by_choice(
    choices: Choices, variants: Mapping[str, np.ndarray], kind: Kind, spec: Spec | None
) -> list[list[dict[str, Any]]]:
    """The outputs of each choice, in a list with one entry for each draw."""
    numbers = range(len(choices.sets))
    if not isinstance(spec, Resample) or spec.draws == 1:
        return [[kind.outputs({key: values[number] for key, values in variants.items()})] for number in numbers]
    return [
        [kind.outputs({key: values[number, draw] for key, values in variants.items()}) for draw in range(spec.draws)]
        for number in numbers
    ]


def metric_name(metric: AnyMetric) -> str:
    return metric.name if isinstance(metric, Metric) else getattr(metric, "__name__", "the metric")


def check_scores(scores: np.ndarray, choices: Choices, metric: AnyMetric) -> None:
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
    return drawn_table([[each] for each in outputs], labels, metric, kind)


def drawn_table(outputs: list[list[dict[str, Any]]], labels: Any, metric: AnyMetric, kind: Kind) -> ScoreTable:
    """The same, as means over several draws of each."""
    if isinstance(metric, Metric):
        # Each resample of a corpus score takes sacrebleu's own formula, which is slow: fewer of them.
        draws = 2000 if metric.generated else 10_000
        return Sums(np.stack([drawn_features(metric, each, labels) for each in outputs]), metric.combine, draws)
    return Calls([kind.predictions(each[0]) for each in outputs], labels, metric)


def same_predictions(first: Any, second: Any) -> float:
    """The share of examples whose prediction is the same as the baseline's."""
    return float(np.mean([np.array_equal(a, b) for a, b in zip(first, second, strict=True)]))
