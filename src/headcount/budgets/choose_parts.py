"""Which heads and feed-forward units stay in a budget: chosen on one half of the examples, evaluated on the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.evidence import AnyMetric, which_test
from headcount.ablation.job import Data, task_metric
from headcount.ablation.summary import metric_name
from headcount.budgets.options import PartOptions
from headcount.budgets.planner import Planner, check_budget, make_planner
from headcount.budgets.speed_search import reach_speed
from headcount.budgets.summaries import summarise
from headcount.budgets.training_texts import training_texts
from headcount.budgets.trials import Bench, Trial, Tried, run_trials
from headcount.choosing.halves import read_halves
from headcount.choosing.importance import importance
from headcount.core.budget_schemas import HALVES
from headcount.core.claims import Verdict, choose_step, judge_step
from headcount.core.html_table import html_table
from headcount.core.provenance import Origin, fingerprint
from headcount.core.results import Labelled
from headcount.core.units import Selection
from headcount.data.kinds.metrics import Metric
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress, in_step
from headcount.engines.run import Run, group_name
from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.fingerprint import find_origin
from headcount.pruning.held_out import HeldOut
from headcount.pruning.prepared_fit import prepare_fit
from headcount.trace.anatomy import read_anatomy

HEADS_ONLY = "heads only"
LONGEST = 400
"""Characters of what goes that a notebook shows."""
NAME = "budget"
"""Of the results in a study, where the user gives none."""


@dataclass
class PartChoice:
    """The heads and units that go, the smaller model, and the evidence: both halves' curves of score and speed."""

    parts: Selection | None
    """What was removed; None where no step of the curve is within the tolerance."""
    model: PreTrainedModel | None
    """A copy of the model without them, refitted."""
    order: str
    selection: xr.Dataset
    held_out: xr.Dataset
    step: int | None
    """The index of the step that was chosen."""
    verdict: Verdict | None = None
    """What the held-out examples say of a tolerance."""

    def _repr_html_(self) -> str:
        """In a notebook: what goes, and the step of the curve that was chosen."""
        parts = "nothing: no step is within the tolerance" if self.parts is None else str(self.parts)
        parts = parts if len(parts) <= LONGEST else f"{parts[:LONGEST]} ..."
        rows = [("to prune", parts), ("in the order of", self.order)]
        if self.step is not None:
            rows.append(("step of the curve", f"{self.step + 1} of {self.selection.sizes['step']}"))
        return html_table(rows, "hc.show(choice) draws the curve of the held-out half.")


def choose_parts(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    task: Task,
    options: PartOptions,
    *,
    train: Data | None = None,
    metric: Any = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    study: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> PartChoice:
    """Score all heads and units, plan a curve of ever smaller models, make and evaluate them, and choose one.

    Scores and the refit come from `train`: by default the training split of the folder `data`, or else the selection
    half. Every model of the curve is really made: cut, refitted, scored on both halves and timed; `heads only` and
    random sets are the controls. Without a study everything is kept in memory; with one the same call resumes.
    """
    anatomy = read_anatomy(model)
    anatomy.units.check()
    # Not the name of a choice of heads: its importance has other options.
    name = None if study is None else name or NAME
    scored_by = task_metric(task, metric)
    if isinstance(scored_by, Metric) and scored_by.generated:
        raise InvalidOption(f"got metric={scored_by.name}, whose texts are generated; expected another, such as loss")
    check_budget(model, options)
    halves = read_halves(data, task, limit, seed, tokenizer)
    texts = training_texts(data, train, task, tokenizer, halves[0], seed)
    reading: dict[str, Any] = {"task": task, "seed": seed, "max_length": max_length}
    scoring: dict[str, Any] = {"what": "both", "own_labels": options.own_labels, "out": study, "name": name}
    estimates = importance(model, tokenizer, texts, progress=in_step(progress, "scores"), **scoring, **reading)
    planner = make_planner(model, options, estimates, study, name, in_step(progress, "times of layers"))
    left = find_left(model, planner, options, study, name)
    trials = plan_trials(planner, options, left, seed)
    fit = None
    if options.refit != "none":
        refitting = in_step(progress, "refit")
        fit = prepare_fit(model, tokenizer, texts, how=options.refit, progress=refitting, **reading)
    first, second = (HeldOut.read(model, tokenizer, half, task, scored_by, max_length, seed) for half in halves)
    bench = Bench(model, (first, second), fit, options.batch, options.length)
    texts_mark = fingerprint(texts.to_json())
    origin = find_origin(model, fingerprint([first.fingerprint, second.fingerprint, texts_mark]), seed)
    identity = options.identity | {"task": task.name, "metric": metric_name(scored_by)}
    identity["trials"] = fingerprint([[trial.order, trial.target, str(trial.removed)] for trial in trials])
    said = _attributes(task, scored_by, options)
    tried = run_trials(bench, trials, origin, identity, said, study, name, in_step(progress, "smaller models"))
    return _choose(_Summaries(bench, trials, tried, anatomy, seed, origin, identity, said), options, left, study, name)


def find_left(
    model: PreTrainedModel, planner: Planner, options: PartOptions, study: Any, name: str | None
) -> float | None:
    """The share that the budget leaves; for a speed the one at which a cut model reaches it; None for a tolerance."""
    left = options.budget.left
    if left is None:
        return None
    planner.check(options.what, left, options.budget.spelled)
    return reach_speed(model, planner, options, study, name) if options.budget.currency == "time" else left


def plan_trials(planner: Planner, options: PartOptions, left: float | None, seed: int) -> list[Trial]:
    """The models of the curve: the steps and the one that was asked for, by each order that can reach them."""
    targets = {round(1 - step / options.steps, 6) for step in range(1, options.steps)}
    targets |= set() if left is None else {left}
    controls = [HEADS_ONLY] if options.what == "both" else []
    trials = []
    for order in (options.what, *controls, *(f"random {number}" for number in range(options.randoms))):
        what = "heads" if order == HEADS_ONLY else options.what
        for target in sorted((target for target in targets if target >= planner.least(what)), reverse=True):
            if order.startswith("random "):
                removed = planner.random(what, target, seed + int(order.removeprefix("random ")))
            else:
                removed = planner.best(what, target)
            trials.append(Trial(order, target, removed))
    if not any(trial.order == options.what for trial in trials):
        raise InvalidOption(
            f"got steps={options.steps}; no step can be reached with what={options.what!r}: give more steps"
        )
    return trials


@dataclass(frozen=True)
class _Summaries:
    """The trials' results of both halves, and what their runs say of themselves."""

    bench: Bench
    trials: list[Trial]
    tried: Tried
    anatomy: Anatomy
    seed: int
    origin: Origin
    identity: dict[str, Any]
    said: dict[str, Any]

    def arrays(self, half: int) -> Labelled:
        held_out = self.bench.halves[half]
        return summarise(HALVES[half], held_out, self.trials, self.tried, self.anatomy, self.seed)

    def store(self, half: int, arrays: Labelled, chosen: int | None, study: Any, name: str | None) -> xr.Dataset:
        counts = {"heads": self.anatomy.layout.count, "units": self.anatomy.units.count}
        examples = {"examples": len(self.bench.halves[half].examples.ids)}
        found = {} if chosen is None else {"chosen": chosen}
        group = group_name("pruning/budget", f"{name or NAME}-{HALVES[half]}")  # the same without a study, for `show`
        run = Run(group, self.origin, self.identity, self.said | counts | examples | found, lambda _: arrays)
        return perform(run, study)


def _choose(results: _Summaries, options: PartOptions, left: float | None, study: Any, name: str | None) -> PartChoice:
    """The step that the budget asks for, or the last one that is within the tolerance on the selection half."""
    arrays, budget, order = [results.arrays(0), results.arrays(1)], options.budget, options.what
    selection = xr.Dataset(
        {key: value for key, value in arrays[0].items() if key not in ("order", "step", "stack", "layer")},
        coords={key: arrays[0][key] for key in ("order", "step", "stack", "layer")},
        attrs=results.said,
    )
    if budget.tolerance is not None:
        step = choose_step(selection, order, budget.tolerance, budget.by_estimate)
    else:
        step = int(np.argmin(np.abs(selection["step"].values - left)))
    stored = [results.store(half, arrays[half], step, study, name) for half in (0, 1)]
    if step is None:
        return PartChoice(None, None, order, stored[0], stored[1], None)
    target = float(selection["step"].values[step])
    removed = next(trial.removed for trial in results.trials if (trial.order, trial.target) == (order, target))
    verdict = None if budget.tolerance is None else judge_step(stored[1], order, step, budget.tolerance)
    return PartChoice(removed, results.bench.make(removed), order, stored[0], stored[1], step, verdict)


def _attributes(task: Task, metric: AnyMetric, options: PartOptions) -> dict[str, Any]:
    said = {
        "task": task.name,
        "metric": metric_name(metric),
        "higher_is_better": metric.higher_is_better if isinstance(metric, Metric) else True,
        "test": which_test(metric),
        "what": options.what,
        "score": options.score,
        "refit": "" if options.refit == "none" else options.refit,
        "budget": options.budget.spelled,
        "currency": options.budget.currency,
        "batch": options.batch,
        "length": options.length,
    }
    return said if options.budget.tolerance is None else said | {"tolerance": options.budget.tolerance}
