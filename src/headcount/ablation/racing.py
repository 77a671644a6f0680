"""A race of heads: examples come in rounds, and a head whose change is settled runs no further.

Settled means: beyond the margin or within it, on all examples of the data, by intervals that hold at all looks together
(`core/races.py`). Which choices were run on which examples is stored with the outputs (`ran`), so that a resumed race
decides as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices
from headcount.ablation.job import Job
from headcount.ablation.results import flat_choices, output_shapes
from headcount.ablation.summary import Summary
from headcount.core.mean_changes import mean_changes, mean_interval_of
from headcount.core.options import without_effect
from headcount.core.proportions import count_changes, mcnemar, tango_interval
from headcount.core.races import (
    DECISIONS,
    ERROR,
    UNDECIDED,
    accuracy_bounds,
    decide,
    mean_bounds,
    plan_looks,
    round_order,
    share_of_error,
)
from headcount.core.results import ArrayPlan
from headcount.core.schema import Schema
from headcount.core.score_tables import Sums
from headcount.core.statistics import bootstrap, false_discovery, interval
from headcount.core.sweep_schemas import ABLATED, sweep_schemas
from headcount.data.kinds.metrics import Metric
from headcount.data.number_options import check_numbers
from headcount.engines.run import Arrays
from headcount.errors import InvalidOption

RAN = "ran"
SCHEMAS = {
    "decision": Schema(
        "Decision of the race",
        direction="of the change on all examples: smaller or larger than the margin allows, or within it",
        names=DECISIONS,
        category=ABLATED,
        rank=100,
    ),
    "examples_run": Schema(
        "Examples until it was settled", "examples", "few: a clear case", (0, None), category=ABLATED, rank=101
    ),
    "passes_saved": Schema("Passes that were not needed", "share of those of a full sweep", "1: all", (0, 1)),
}


@dataclass(frozen=True)
class Race:
    """The rounds of a race, who runs in each, and what follows at the end."""

    choices: Choices
    job: Job
    metric: Metric
    margin: float
    seed: int
    order: np.ndarray
    """The examples in the order in which they are run."""
    unit: int
    """Examples of a unit."""
    ends: tuple[int, ...]
    """After how many units each round ends."""

    @classmethod
    def plan(cls, choices: Choices, job: Job, margin: float, seed: int) -> Race:
        examples = len(job.examples.ids)
        unit, ends = plan_looks(examples)
        order = round_order(job.encodings.lengths, [min(examples, end * unit) for end in ends], seed)
        return cls(choices, job, check_metric(job), margin, seed, order, unit, tuple(ends))

    @property
    def units(self) -> list[tuple[int, int]]:
        count = len(self.order)
        return [(start, min(start + self.unit, count)) for start in range(0, count, self.unit)]

    @property
    def attributes(self) -> dict[str, Any]:
        """What the result says of the race."""
        looks = [int(min(len(self.order), end * self.unit)) for end in self.ends]
        return {"race": {"margin": self.margin, "looks": looks, "error": ERROR}}

    def plan_arrays(self) -> dict[str, ArrayPlan]:
        """`ran`: whether each choice was run on each example."""
        coords = self.choices.coords()
        shape = (*(len(coords[dim]) for dim in self.choices.dims), len(self.order))
        return {RAN: ArrayPlan((*self.choices.dims, "example"), shape, "bool")}

    def mark(self, numbers: list[int], examples: int) -> Arrays:
        """`ran` for a unit of so many examples."""
        marks = np.zeros(len(self.choices.sets))
        marks[numbers] = 1
        arranged = np.nan_to_num(self.choices.arrange(list(marks))).astype(bool)
        return {RAN: np.repeat(arranged[..., None], examples, axis=-1)}

    def runners(self, number: int, saved: Callable[[], Arrays]) -> list[int]:
        """The numbers of the choices that run in a round: those that no earlier look has settled."""
        if number == 0:
            return list(range(len(self.choices.sets)))
        arrays = saved()
        rows = np.sort(self.order[: self.ends[number - 1] * self.unit])
        running = np.flatnonzero(flat_choices(self.choices, arrays[RAN])[:, rows].all(1))
        if not len(running):
            return []
        decisions = decide(*self._bounds(arrays, running, rows), self.margin)
        return [int(choice) for choice in running[decisions == UNDECIDED]]

    def summarise(self, arrays: Arrays) -> Summary:
        """The statistics of a race, each choice on the examples that it was run on.

        `delta`, the paired change on these examples, and `score`, the baseline on all examples with this change.
        `race_low` to `race_high`: the change on all examples of the data, by the interval of the look that settled it;
        with all examples run, the change itself. `decision` and `examples_run`. `low` to `high`, `p` and `q` are, as in
        a sweep, about examples like these; with the error of a single look divided by the number of looks, so that they
        hold wherever a choice has stopped. `passes_saved`: the share of a sweep's passes that were not needed.
        """
        count, looks = len(self.choices.sets), len(self.ends)
        per_choice = {
            name: np.full(count, np.nan) for name in ("delta", "low", "high", "p", "race_low", "race_high", "decision")
        }
        ran = flat_choices(self.choices, arrays[RAN])
        for numbers, rows in _alike(ran):
            low, high = self._bounds(arrays, numbers, rows)
            evidence = self._evidence(arrays, numbers, rows, ERROR / looks)
            evidence |= {"race_low": low, "race_high": high, "decision": decide(low, high, self.margin)}
            for name, values in evidence.items():
                per_choice[name][numbers] = values
        per_choice["p"] = np.minimum(1, looks * per_choice["p"])
        per_choice["q"] = false_discovery(per_choice["p"])
        base = self._features(arrays, None, np.arange(len(self.order)))[None]
        table = Sums(base, self.metric.combine)
        baseline = float(table.scores(np.ones((1, table.examples)))[0, 0])
        base_low, base_high = interval(bootstrap(table, seed=self.seed)[:, 0])
        per_choice |= {"score": baseline + per_choice["delta"], "examples_run": ran.sum(1).astype(float)}
        overall = {
            "baseline": baseline,
            "baseline_low": float(base_low),
            "baseline_high": float(base_high),
            "passes_saved": float(1 - ran.mean()),
        }
        summary: Summary = {
            name: (self.choices.dims, self.choices.arrange(list(values))) for name, values in per_choice.items()
        }
        summary |= {name: ((), np.asarray(value)) for name, value in overall.items()}
        known = sweep_schemas(self.metric.name, self.metric.higher_is_better, self.choices.by) | SCHEMAS
        return {name: (*array, known[name].attributes()) if name in known else array for name, array in summary.items()}

    def _bounds(self, arrays: Arrays, numbers: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The interval of each choice's change on all examples, from these rows."""
        error, population = share_of_error(len(self.ends)), len(self.order)
        if self.metric.correct is not None:
            return accuracy_bounds(*count_changes(*self._right(arrays, numbers, rows)), len(rows), population, error)
        return mean_bounds(*self._changes(arrays, numbers, rows), population, error, self.seed)

    def _evidence(self, arrays: Arrays, numbers: np.ndarray, rows: np.ndarray, error: float) -> dict[str, np.ndarray]:
        """The change on these rows, with an interval of this error, and its p-value."""
        if self.metric.correct is not None:
            right = self._right(arrays, numbers, rows)
            lost, won = count_changes(*right)
            low, high = tango_interval(lost, won, len(rows), 1 - error)
            return {"delta": (won - lost) / len(rows), "low": low, "high": high, "p": mcnemar(*right)}
        changes, weights = self._changes(arrays, numbers, rows)
        delta, low, high = mean_interval_of(changes, weights, 1 - error, self.seed)
        p = mean_changes(changes, weights, self.seed, len(self.choices.sets) * len(self.ends)).p
        return {"delta": delta, "low": low, "high": high, "p": p}

    def _right(self, arrays: Arrays, numbers: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self.metric.correct is not None
        labels = self._labels(rows)
        right = [self.metric.correct(self._outputs(arrays, number, rows), labels) for number in (None, *numbers)]
        return right[0], np.stack(right[1:])

    def _changes(self, arrays: Arrays, numbers: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base = self._features(arrays, None, rows)
        sums = np.stack([self._features(arrays, number, rows)[:, 0] for number in numbers])
        return sums - base[:, 0], base[:, 1]

    def _features(self, arrays: Arrays, number: int | None, rows: np.ndarray) -> np.ndarray:
        return self.metric.features(self._outputs(arrays, number, rows), self._labels(rows))

    def _outputs(self, arrays: Arrays, number: int | None, rows: np.ndarray) -> dict[str, Any]:
        """The outputs of a choice, or of the baseline, for some examples."""
        keys = output_shapes(self.job)
        if number is None:
            return self.job.task.kind.outputs({key: arrays[f"baseline_{key}"][rows] for key in keys})
        index = self.choices.index(number)
        return self.job.task.kind.outputs({key: arrays[key][index][rows] for key in keys})

    def _labels(self, rows: np.ndarray) -> Any:
        labels = self.job.examples.labels
        if labels is None or isinstance(labels, np.ndarray):
            return labels if labels is None else labels[rows]
        return [labels[row] for row in rows]


def check_race(stop_when: float | None, choices: Choices, shard: str | None) -> None:
    """Refuse a margin that is none, and what cannot be raced."""
    check_numbers(stop_when=stop_when)
    if stop_when is None:
        return
    without_effect("shard", shard, "a race decides after each round, from all examples so far", "leave one of them out")
    if choices.paired is not None:
        raise InvalidOption(
            "got stop_when= for pairs of heads; expected one of the two: an interaction needs the pair and both of its "
            "heads on the same examples"
        )
    if choices.screened is not None:
        raise InvalidOption(
            "got stop_when= for screened heads; expected one of the two: what a screening may have missed is known "
            "from changes on all examples"
        )


def check_metric(job: Job) -> Metric:
    """The metric, if it is a mean over the examples."""
    metric = job.metric
    if isinstance(metric, Metric) and (metric.correct is not None or (metric.mean and metric.name != "perplexity")):
        return metric
    fit = [known.name for known in job.task.kind.metrics if known.correct or (known.mean and known.name == "loss")]
    remedy = f"give metric={fit[0]!r}" if fit else f"sweep {job.task.kind.name} without stop_when="
    raise InvalidOption(
        f"got stop_when= and the metric {job.metric_name}; expected a metric that is a mean over examples: {remedy}"
    )


def _alike(ran: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The choices that were run on the same examples, and the rows of these."""
    patterns, where = np.unique(ran, axis=0, return_inverse=True)
    for pattern, mask in enumerate(patterns):
        yield np.flatnonzero(where.ravel() == pattern), np.flatnonzero(mask)
