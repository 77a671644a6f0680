"""A budget in stages: cut, refit and recover with the whole model as the teacher, then cut again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from headcount.ablation.job import Data, task_metric
from headcount.ablation.paired import PairedScores
from headcount.budgets.choose_parts import NAME, find_left
from headcount.budgets.options import PartOptions
from headcount.budgets.planner import check_budget, make_planner
from headcount.budgets.training_texts import training_texts
from headcount.budgets.trials import Bench
from headcount.choosing.halves import read_halves
from headcount.choosing.importance import importance
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.progress import Progress, in_step
from headcount.errors import InvalidOption
from headcount.pruning.held_out import HeldOut
from headcount.pruning.prepared_fit import prepare_fit
from headcount.pruning.recover import recover
from headcount.trace.anatomy import read_anatomy


@dataclass(frozen=True, eq=False)
class Staged:
    """The smaller model, its score on the held-out half beside the whole model's, and what is left of it."""

    model: PreTrainedModel
    scores: PairedScores
    """Of the whole model and of the smaller one, on the held-out half."""
    numbers: Mapping[str, float]
    """`operations` and `weights` left, and the measured `speed` with its quartiles."""
    stages: tuple[float, ...]
    """The share of the budget's currency that was left after each stage."""


@writes_study("study")
def prune_in_stages(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    task: Task,
    options: PartOptions,
    recovery: Mapping[str, Any],
    *,
    stages: int = 3,
    train: Data | None = None,
    metric: Any = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    study: Path | None = None,
    name: str | None = None,
    state: Path | None = None,
    progress: Progress | None = None,
) -> Staged:
    """Reach the budget in `stages` cuts, each refitted and recovered; only the last model sees the held-out half.

    Every stage leaves the same share of the one before. `recovery`: the options of `recover`, such as `max_steps`.
    `study`: for the scores and times of the first stage; those of later ones are of other models, which no study of
    this one takes, and stand in `state`, a folder for the recovery. With both the same call resumes.
    """
    check_numbers(stages=stages)
    if options.budget.left is None:
        raise InvalidOption("stages= need a budget that can be reached: operations=50%, weights=60% or faster=2")
    read_anatomy(model).units.check()
    check_budget(model, options)
    selection, rest = read_halves(data, task, limit, seed, tokenizer)
    texts = training_texts(data, train, task, tokenizer, selection, seed)
    lessons = training_texts(data, train, task, tokenizer, selection, seed, most=None)
    reading: dict[str, Any] = {"task": task, "seed": seed, "max_length": max_length}
    held_out = HeldOut.read(model, tokenizer, rest, task, task_metric(task, metric), max_length, seed)
    current, reached, shares = model, 1.0, []
    for stage in range(1, stages + 1):

        def said(step: str, stage: int = stage) -> Progress | None:
            return in_step(progress, f"stage {stage} of {stages}: {step}")

        wanted = options.budget.left ** (stage / stages) / reached
        if wanted >= 1:  # numbers of units are rounded: the stage before went as far
            continue
        asked = replace(options, budget=replace(options.budget, left=wanted))
        place = study if current is model else None if state is None else state / f"study-{stage}"
        called = None if place is None else f"{name or NAME}-stage-{stage}"
        scoring: dict[str, Any] = {"what": "both", "own_labels": options.own_labels, "out": place, "name": called}
        estimates = importance(current, tokenizer, texts, progress=said("scores"), **scoring, **reading)
        planner = make_planner(current, asked, estimates, place, called, said("times of layers"))
        if current is model:
            planner.check(options.what, options.budget.left, options.budget.spelled)
        left = find_left(current, planner, asked, place, called)
        assert left is not None  # a tolerance was refused
        fit = None
        if options.refit != "none":
            fit = prepare_fit(current, tokenizer, texts, how=options.refit, progress=said("refit"), **reading)
        bench = Bench(current, (held_out, held_out), fit, options.batch, options.length)
        smaller = bench.make(planner.best(options.what, left))
        out = None if state is None else state / f"stage-{stage}"
        training: dict[str, Any] = {"teacher": model, **recovery, "out": out, "progress": said("recover")}
        current = recover(smaller, tokenizer, lessons, **training, **reading)
        numbers = Bench(model, (held_out, held_out), None, options.batch, options.length).measure(current)
        currency = options.budget.currency
        reached = 1 / numbers["speed"] if currency == "time" else numbers[currency]
        shares.append(reached)
    scores = held_out.compare(held_out.outputs(model), held_out.outputs(current), seed=seed)
    return Staged(current, scores, numbers, tuple(shares))
