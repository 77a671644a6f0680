"""The statistics of a sweep over pairs: the effect of each head, of both together, and their interaction.

| metric | test of the interaction | null hypothesis | interval |
|---|---|---|---|
| accuracy | exact sign flips | an example's interaction has either sign equally often | score interval, after Tango |
| loss, share of right tokens or tags | bootstrap-t | the mean interaction of the examples is zero | bootstrap-t |
| all others | bootstrap-t of the jackknife's pseudo-values | the interaction of the scores is zero | the same |

A perplexity is refused: it is an exponential, so that effects which add up in the loss multiply in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices, Paired
from headcount.ablation.evidence import AnyMetric, evidence_of, which_test
from headcount.ablation.screened import missed_among
from headcount.ablation.summary import Summary, check_scores, metric_name, same_predictions, table_of
from headcount.core.claims import kind_of_pair
from headcount.core.interactions import (
    interactions,
    pseudo_values,
    score_interval,
    sign_flip_test,
    strongest_interaction,
)
from headcount.core.mean_changes import mean_changes
from headcount.core.pair_schemas import pair_schemas
from headcount.core.results import HEAD_DIMS, PAIR, by_head
from headcount.core.score_tables import ScoreTable, Sums
from headcount.core.statistics import bootstrap, false_discovery, interval, permutation_test, rank_correlation
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.metrics import Metric
from headcount.data.kinds.ranking import SCORES
from headcount.errors import InvalidOption

ROUNDING = 1e-6
"""Relative size of what is no interaction: a few units of float32's last place, of sums of four numbers."""
LEAST_COMPARED = 3
"""Pairs of the control from which on the estimate is compared with the interactions."""


def check_pair_metric(metric: AnyMetric) -> None:
    """Refuse a metric for which effects of independent heads do not add up."""
    if isinstance(metric, Metric) and metric.name == "perplexity":
        raise InvalidOption(
            "got the metric perplexity for pairs of heads; expected another one: effects that add up in the loss "
            "multiply in a perplexity; give metric='loss'"
        )


def which_pair_test(metric: AnyMetric) -> str:
    """The name of the test for interactions of a metric."""
    if isinstance(metric, Metric) and metric.correct is not None:
        return "sign-flip"
    return "bootstrap-t" if isinstance(metric, Metric) and metric.is_mean else "jackknife-t"


def describe_pairs(paired: Paired) -> dict[str, Any]:
    """What the result says of how its pairs were selected."""
    about: dict[str, Any] = {"pairs": {"run": len(paired.numbers), "tests": paired.tests}}
    if paired.ranked is not None:
        about["ranked"] = {"estimate": paired.ranked.estimate, "top": len(paired.ranked.top), "of": paired.ranked.of}
    if paired.screened is not None:
        screened = paired.screened
        about["screen"] = {
            "estimate": screened.estimate,
            "top": len(screened.top),
            "control": len(screened.control),
            "of": screened.of,
        }
    return about


@dataclass(frozen=True)
class Numbers:
    """Of each pair, the numbers of the choices without both, the first and the second head."""

    both: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, paired: Paired) -> Numbers:
        return cls(*np.array(paired.numbers, dtype=int).T)

    def interact(self, values: np.ndarray) -> np.ndarray:
        """The interaction of each pair, from values [1 + choice, ...]."""
        return interactions(values, self.both, self.first, self.second)


def summarise_pairs(
    choices: Choices,
    baseline: Mapping[str, np.ndarray],
    variants: Mapping[str, np.ndarray],
    labels: Any,
    metric: AnyMetric,
    kind: Kind,
    seed: int = 0,
) -> Summary:
    """The statistics of a sweep over pairs as named arrays.

    Along `head_pair`: `interaction`, the change of the score without both heads (`joint`, with its 95 % interval) minus
    the sum of the changes without each (`first_effect`, `second_effect`); its 95 % interval `low` to `high`, `p`, `q`
    (Benjamini and Hochberg, over all pairs that the run ones were selected from); `kind`, as `core/claims.py` defines
    it. Classifiers also get the interaction in the loss, `loss_interaction` and so on. Along (stack, layer, head):
    `single`, the change without the head alone, with its interval, `single_p` and `single_q`.
    Of screened pairs also `estimated`, and how many of those that were not run may interact (`missed_...`).
    """
    paired = choices.paired
    assert paired is not None
    numbers = Numbers.of(paired)
    by_choice = [{key: values[number] for key, values in variants.items()} for number in range(len(choices.sets))]
    outputs = [kind.outputs(arrays) for arrays in (baseline, *by_choice)]
    table = table_of(outputs, labels, metric, kind)
    higher = metric.higher_is_better if isinstance(metric, Metric) else True
    scores = table.scores(np.ones((1, table.examples)))[0]
    check_scores(scores, choices, metric)
    resampled = bootstrap(table, seed=seed)
    effects = _effects(table, outputs, labels, metric, resampled, seed)
    base_low, base_high = interval(resampled[:, 0])
    delta = scores[1:] - scores[0]
    values, weights = _shares(numbers, table, outputs, labels, metric)
    evidence = {"interaction": numbers.interact(scores), **_evidence(values, weights, metric, seed, paired.tests)}
    strongest = strongest_interaction(values, weights, seed=seed)
    whole, *without = [kind.predictions(output) for output in outputs]
    per_pair = {
        "score": scores[1:][numbers.both],
        "joint": delta[numbers.both],
        "joint_low": effects["low"][numbers.both],
        "joint_high": effects["high"][numbers.both],
        "first_effect": delta[numbers.first],
        "second_effect": delta[numbers.second],
        **evidence,
        "q": false_discovery(evidence["p"], paired.tests),
        "unchanged": np.array([same_predictions(whole, without[number]) for number in numbers.both]),
        **_loss_interactions(numbers, outputs, labels, metric, kind, seed, paired.tests),
    }
    per_pair["kind"] = kind_of_pair(per_pair["interaction"], per_pair["q"], higher).astype(float)
    overall = {
        "baseline": float(scores[0]),
        "baseline_low": float(base_low),
        "baseline_high": float(base_high),
        "strongest_naive": strongest.naive,
        "strongest_honest": strongest.honest,
        "strongest_honest_low": strongest.low,
        "strongest_honest_high": strongest.high,
    }
    arrays: Summary = {name: ((PAIR,), values) for name, values in per_pair.items()}
    arrays |= _singles(choices, delta, effects)
    if paired.screened is not None:
        top = np.arange(len(numbers.both)) < len(paired.screened.top)
        overall |= missed_among(top, paired.screened.of, per_pair["interaction"], per_pair["p"])
        overall |= _agreement(paired, per_pair, metric, ~top, seed)
    arrays |= {name: ((), np.asarray(value)) for name, value in overall.items()}
    names = choices.names()
    arrays["strongest"] = ((), np.asarray(names[numbers.both[strongest.number]], dtype=object))
    schemas = pair_schemas(metric_name(metric), higher)
    return {name: (*array, schemas[name].attributes()) if name in schemas else array for name, array in arrays.items()}


def _effects(
    table: ScoreTable, outputs: list[dict[str, Any]], labels: Any, metric: AnyMetric, resampled: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """The interval and the p-value of the change of every choice, as in any other sweep."""
    count = resampled.shape[1] - 1
    # Only the metrics that have no other test need permutations, which are slow for thousands of pairs.
    needed = which_test(metric) == "permutation"
    tested, exchanged = permutation_test(table, seed) if needed else (np.ones(count), np.zeros((1, count)))
    return evidence_of(table, outputs, labels, metric, resampled, tested, exchanged, seed).per_choice


def _shares(
    numbers: Numbers, table: ScoreTable, outputs: list[dict[str, Any]], labels: Any, metric: AnyMetric
) -> tuple[np.ndarray, np.ndarray]:
    """What each example contributes to each interaction [pair, example], and the weights [example] of the mean."""
    test = which_pair_test(metric)
    if test == "jackknife-t":
        sums, weights = pseudo_values(table), np.ones(table.examples)
    else:
        assert isinstance(table, Sums)
        sums, weights = table.features[..., 0], table.features[0, :, 1]
    return _without_rounding(numbers.interact(sums), sums), weights


def _evidence(
    values: np.ndarray, weights: np.ndarray, metric: AnyMetric, seed: int, tests: int
) -> dict[str, np.ndarray]:
    """`low`, `high` and `p` of the interaction of each pair."""
    if which_pair_test(metric) == "sign-flip":
        low, high = score_interval(values)
        return {"low": low, "high": high, "p": sign_flip_test(values)}
    tested = mean_changes(values, weights, seed, tests)
    return {"low": tested.low, "high": tested.high, "p": tested.p}


def _without_rounding(values: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Interactions [pair, example] with those set to 0 that are rounding errors of the sums they are made of.

    The outputs are those of a float32 model: without this, heads that do not interact at all would differ from 0 by
    the last digit in many examples, and in one direction.
    """
    scale = np.abs(sums).max(0)
    return np.where(np.abs(values) <= ROUNDING * scale, 0.0, values)


def _loss_interactions(
    numbers: Numbers,
    outputs: list[dict[str, Any]],
    labels: Any,
    metric: AnyMetric,
    kind: Kind,
    seed: int,
    tests: int,
) -> dict[str, np.ndarray]:
    """The interaction in a classifier's loss, which also shows what flips no prediction; empty for other models."""
    loss = next((known for known in kind.metrics if known.name == "loss"), None)
    if loss is None or not {"logits", SCORES} & {*outputs[0]} or not isinstance(metric, Metric) or metric.mean:
        return {}
    losses = np.stack([loss.features(output, labels)[:, 0] for output in outputs])
    tested = mean_changes(_without_rounding(numbers.interact(losses), losses), np.ones(losses.shape[1]), seed, tests)
    delta = losses[1:].mean(1) - losses[0].mean()
    return {
        "loss_interaction": tested.delta,
        "loss_low": tested.low,
        "loss_high": tested.high,
        "loss_p": tested.p,
        "loss_q": false_discovery(tested.p, tests),
        "loss_joint": delta[numbers.both],
        "loss_first_effect": delta[numbers.first],
        "loss_second_effect": delta[numbers.second],
    }


def _singles(choices: Choices, delta: np.ndarray, effects: Mapping[str, np.ndarray]) -> Summary:
    """The effect of each head alone, along (stack, layer, head)."""
    alone = [(number, next(iter(heads))) for number, heads in enumerate(choices.sets) if len(heads) == 1]
    rows = np.array([number for number, _ in alone])
    # Heads that were ranked on these examples and not run count as tests, as in a screened sweep.
    tests = None if choices.paired is None or choices.paired.ranked is None else choices.paired.ranked.of
    values = {
        "single": delta[rows],
        "single_low": effects["low"][rows],
        "single_high": effects["high"][rows],
        "single_p": effects["p"][rows],
        "single_q": false_discovery(effects["p"][rows], tests),
    }
    heads = [head for _, head in alone]
    return {
        name: (HEAD_DIMS, by_head(dict(zip(heads, found, strict=True)), choices.layout))
        for name, found in values.items()
    }


def _agreement(
    paired: Paired, per_pair: Mapping[str, np.ndarray], metric: AnyMetric, control: np.ndarray, seed: int
) -> dict[str, float]:
    """The rank correlation of the estimate with the interaction in the loss, among the control: a random sample."""
    assert paired.screened is not None
    exact = per_pair.get("loss_interaction", per_pair["interaction"])
    if not isinstance(metric, Metric) or ("loss_interaction" not in per_pair and not metric.mean):
        return {}
    if control.sum() < LEAST_COMPARED:
        return {}
    value, low, high = rank_correlation(np.array(paired.screened.estimated)[control], exact[control], seed=seed)
    return {"agreement": value, "agreement_low": low, "agreement_high": high}
