"""Which heads and feed-forward units stay in a budget: chosen on one half of the examples, evaluated on the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.evidence import AnyMetric, which_test
from headcount.ablation.job import Data, read_data, task_metric
from headcount.ablation.summary import metric_name
from headcount.choosing.budgets.budget import Budget
from headcount.choosing.budgets.calibrated import reach_speed
from headcount.choosing.budgets.part_sets import read_scores, read_slopes
from headcount.choosing.budgets.planner import Planner, find_multiple
from headcount.choosing.budgets.summaries import summarise
from headcount.choosing.budgets.trials import HALVES, Bench, Trial, run_trials
from headcount.choosing.halves import read_halves
from headcount.choosing.importance import importance
from headcount.core.claims import Verdict, choose_step, judge_step
from headcount.core.provenance import fingerprint
from headcount.core.units import Selection
from headcount.costs.layer_times import layer_times
from headcount.costs.operations import part_costs
from headcount.data.blank_rows import leave_out_blank
from headcount.data.kinds.metrics import Metric
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress, in_step
from headcount.engines.run import Run, group_name
from headcount.errors import InvalidOption
from headcount.models.fingerprint import find_origin
from headcount.pruning.held_out import HeldOut
from headcount.pruning.refit import prepare_fit
from headcount.trace.anatomy import read_anatomy

TEXTS = 1024
"""Texts for scores and refit."""
BATCH, LENGTH = 16, 128
"""The shape at which speed is measured."""
RANDOMS = 1
HEADS_ONLY = "heads only"


@dataclass(frozen=True)
class PartOptions:
    """The options of a choice to a budget."""

    what: str
    budget: Budget
    score: str = "fisher"
    labels: bool = True
    rearrange: bool = False
    refit: str = "weights"
    multiple: int | None = None
    at_least: int = 0
    steps: int = 8
    randoms: int = RANDOMS
    batch: int = BATCH
    length: int = LENGTH

    @property
    def identity(self) -> dict[str, Any]:
        """What must be equal to resume."""
        names = ("what", "score", "labels", "rearrange", "refit", "multiple", "at_least", "steps", "randoms", "batch", "length")
        return {name: getattr(self, name) for name in names} | {"budget": self.budget.spelled}


@dataclass
class PartChoice:
    """The heads and units that go, the smaller model, and the evidence of both halves."""

    parts: Selection | None
    """What was removed; None where no step of the curve is within the tolerance."""
    model: PreTrainedModel | None
    """The model without them, refitted."""
    order: str
    selection: xr.Dataset
    held_out: xr.Dataset
    step: int | None
    verdict: Verdict | None = None


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
    """Score the parts, plan the smaller models of a curve, make and evaluate them, and choose one."""
    anatomy, budget = read_anatomy(model), options.budget
    anatomy.units.check()
    scored_by = task_metric(task, metric)
    if isinstance(scored_by, Metric) and scored_by.generated:
        raise InvalidOption(f"got metric={scored_by.name}, whose texts are generated; expected another, such as loss")
    halves = read_halves(data, task, limit, seed, tokenizer)
    texts = training_texts(data, train, task, tokenizer, halves[0], seed)
    shared: dict[str, Any] = {"task": task, "seed": seed, "max_length": max_length}
    estimates = importance(
        model,
        tokenizer,
        texts,
        what="both",
        labels=options.labels,
        out=study,
        name=name,
        progress=in_step(progress, "scores"),
        **shared,
    )
    planner = _planner(model, options, estimates, study, name, progress)
    left = budget.left
    if left is not None:
        planner.check(options.what, left, budget.spelled)
        if budget.currency == "time":
            left = reach_speed(model, planner, options, study, name)
    trials = plan_trials(planner, options, left, seed)
    fit = None
    if options.refit != "none":
        fit = prepare_fit(model, tokenizer, texts, task=task, how=options.refit, max_length=max_length, seed=seed, progress=in_step(progress, "refit"))
    held_outs = tuple(HeldOut.read(model, tokenizer, half, task, scored_by, max_length, seed) for half in halves)
    bench = Bench(model, (held_outs[0], held_outs[1]), fit, options.batch, options.length)
    data_id = fingerprint([held_outs[0].fingerprint, held_outs[1].fingerprint, fingerprint(texts.to_json())])
    origin = find_origin(model, data_id, seed)
    said = _attributes(task, scored_by, options)
    identity = options.identity | {"task": task.name, "metric": metric_name(scored_by), "trials": fingerprint([(trial.order, trial.target, str(trial.removed)) for trial in trials])}
    tried = run_trials(bench, trials, origin, identity, said, study, name, in_step(progress, "smaller models"))
    results = []
    for half, held_out in zip(HALVES, bench.halves, strict=True):
        run = Run(
            group_name("pruning/budget", f"{name}-{half}" if name else half),
            origin,
            identity,
            said | {"examples": len(held_out.examples.ids), "heads": anatomy.layout.count, "units": anatomy.units.count},
            lambda _, half=half, held_out=held_out: summarise(half, held_out, trials, tried, anatomy, seed),  # type: ignore[misc]
        )
        results.append(perform(run, study))
    return _choose(bench, trials, results[0], results[1], options, left)


def _choose(
    bench: Bench, trials: list[Trial], selection: xr.Dataset, held_out: xr.Dataset, options: PartOptions, left: float | None
) -> PartChoice:
    """The step that the budget asks for, or the last one that is within the tolerance on the selection half."""
    order, budget = options.what, options.budget
    if budget.tolerance is not None:
        step = choose_step(selection, order, budget.tolerance, budget.by_estimate)
        verdict = None if step is None else judge_step(held_out, order, step, budget.tolerance)
    else:
        step, verdict = int(np.argmin(np.abs(selection["step"].values - left))), None
    if step is None:
        return PartChoice(None, None, order, selection, held_out, None)
    target = float(selection["step"].values[step])
    removed = next(trial.removed for trial in trials if trial.order == order and trial.target == target)
    return PartChoice(removed, bench.make(removed), order, selection, held_out, step, verdict)


def training_texts(
    data: Data, train: Data | None, task: Task, tokenizer: Any, selection: pd.DataFrame, seed: int
) -> pd.DataFrame:
    """The texts for scores, refit and recovery: those given, the folder's training split, or the selection half."""
    if train is None:
        folder = Path(str(data)) if isinstance(data, str | Path) else None
        if folder is None or not folder.is_dir() or not list(folder.glob("train.*")):
            return selection.sample(min(TEXTS, len(selection)), random_state=seed).sort_index()
        train = next(iter(sorted(folder.glob("train.*"))))
    table = read_data(train, task, tokenizer, None, seed)
    table = table.sample(min(4 * TEXTS, len(table)), random_state=seed).sort_index()
    table = leave_out_blank(table, task.columns(table), task.kind, tokenizer)
    return table.sample(min(TEXTS, len(table)), random_state=seed).sort_index()


def plan_trials(planner: Planner, options: PartOptions, left: float | None, seed: int) -> list[Trial]:
    """The models of the curve: the steps and the one that was asked for, by each order that can reach them."""
    targets = {round(1 - step / (options.steps + 1), 6) for step in range(1, options.steps + 1)}
    targets |= {left} if left is not None else set()
    trials = []
    orders = [options.what, *([HEADS_ONLY] if options.what == "both" else []), *(f"random {n}" for n in range(options.randoms))]
    for order in orders:
        what = "heads" if order == HEADS_ONLY else options.what
        least = planner.least(what)
        for target in sorted(targets, reverse=True):
            if target >= least:
                best = not order.startswith("random ")
                removed = planner.best(what, target) if best else planner.random(what, target, seed + int(order.split()[1]))
                trials.append(Trial(order, target, removed))
    return trials


def _planner(
    model: PreTrainedModel, options: PartOptions, estimates: xr.Dataset, study: Any, name: str | None, progress: Progress | None
) -> Planner:
    anatomy, currency = read_anatomy(model), options.budget.currency
    additive = part_costs(model, options.length)
    costs: Any = additive.weights if currency == "weights" else additive.operations
    fixed = additive.fixed_weights if currency == "weights" else additive.fixed_operations
    if currency == "time":
        times = layer_times(model, options.batch, options.length, study=study, name=name, progress=in_step(progress, "times of layers"))
        blocks = list(anatomy.blocks())
        costs = {block.key_of(): np.array([times.seconds(block.layer_key, n) for n in range(block.count + 1)]) for block in blocks}
        fixed = times.rest
    return Planner(
        anatomy,
        currency,
        read_scores(anatomy, estimates, options.score),
        read_slopes(anatomy, estimates) if options.rearrange else None,
        costs,
        fixed,
        find_multiple(anatomy, options.multiple),
        options.at_least,
    )


def _attributes(task: Task, metric: AnyMetric, options: PartOptions) -> dict[str, Any]:
    return {
        "task": task.name,
        "metric": metric_name(metric),
        "higher_is_better": metric.higher_is_better if isinstance(metric, Metric) else True,
        "test": which_test(metric),
        "what": options.what,
        "refit": options.refit,
        "score": options.score,
        "budget": options.budget.spelled,
        "currency": options.budget.currency,
        "batch": options.batch,
        "length": options.length,
    } | ({"tolerance": options.budget.tolerance} if options.budget.tolerance is not None else {})
