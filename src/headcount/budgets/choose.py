"""What can go, heads in an order or heads and units to a budget: selected on one half, evaluated on the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task
from headcount.budgets.budget import Budget, check_what
from headcount.budgets.choose_parts import PartChoice, choose_parts
from headcount.budgets.options import PartOptions, find_length, refuse_orders
from headcount.choosing.choose_heads import Choice, choose_heads
from headcount.choosing.orders import DEFAULT
from headcount.core.options import belongs_to, without_effect
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.progress import Progress
from headcount.models.compiled import takes_compiled


@takes_compiled
@takes_engine
@writes_study("study")
def choose(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    what: str = "heads",
    tolerance: float | None = None,
    drop: int | str | None = None,
    keep: int | str | None = None,
    operations: str | float | None = None,
    weights: str | float | None = None,
    faster: float | None = None,
    by_estimate: bool = False,
    by: str = "head",
    order: str | Sequence[str] = DEFAULT,
    steps: int = 10,
    randoms: int | None = None,
    anew: bool = False,
    normed: bool = True,
    at_least: int = 0,
    stack: str | None = None,
    train: Data | None = None,
    score: str | None = None,
    own_labels: bool = False,
    rearrange: bool = False,
    refit: str | None = None,
    multiple: int | None = None,
    batch: int | None = None,
    length: int | None = None,
    metric: Any = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    study: str | Path | None = None,
    name: str | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> Choice | PartChoice:
    """The heads that can go, as a Choice: `prune(model, choice.heads)` cuts them out.

    Exactly one of `tolerance` (points of the score: 1 is 0.01 of an accuracy), `drop` and `keep` (`58` or `"40%"`)
    says how many. One half of the examples orders the heads and, with a tolerance, selects their number; the held-out
    half evaluates the selection. `by`: what goes together, a head or (`"group"`) a key/value group: all query heads
    that share keys and values, and these with them. `order`: some of importance (Michel's), ablation (the score
    without each head), taylor, norm, gates (learned), random, or `file:PATH`; the first one decides, the others are
    computed for comparison. `randoms`: how many random orders, 3 by default. `anew`: importance is computed again after
    each of the `steps`. `normed`: importance is divided by the norm of its layer, as in the paper. `at_least`: heads
    that every layer keeps. `stack`: only heads of this stack go. `metric`: instead of the task's own, such as
    "perplexity". `by_estimate`: a tolerance is compared with the change itself, not with its confidence bound.
    `study`: a folder for importance and curves; the same call resumes. `name`: of the results in it, "prune" by
    default, "budget" for a budget.

    With `what="units"` (of the feed-forward layers) or `"both"`, and for a budget, the result is a PartChoice: `parts`
    is what goes and `model` the smaller model. Exactly one of `operations` and `weights` (the share that is left,
    `"50%"`), `faster` (2: twice as fast, measured on this machine at `batch` x `length`) and `tolerance` is given. All
    heads and units get a `score` ("fisher" by default), from `train` (by default the training split of a folder, or
    the selection half), with `own_labels` without its labels; the best set within the budget is exact; `rearrange`
    exchanges parts by the Fisher matrix of their layer; `refit` ("weights" by default, "scales", "none") fits what is
    left to the whole model's outputs, by least squares. Numbers of units are rounded to `multiple`.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    check_numbers(seed=seed, limit=limit, max_length=max_length, at_least=at_least)
    belongs_to("name", name, "study", study)
    belongs_to("by_estimate", by_estimate, "tolerance", tolerance)
    check_what(what)
    of_budgets: dict[str, Any] = {
        **{"train": train, "score": score, "own_labels": own_labels, "rearrange": rearrange, "refit": refit},
        **{"multiple": multiple, "batch": batch, "length": length},
    }
    shared: dict[str, Any] = {"metric": metric, "limit": limit, "seed": seed, "max_length": max_length}
    shared |= {"study": study, "name": name, "progress": progress}
    if what == "heads" and (operations, weights, faster) == (None, None, None):
        for option, given in of_budgets.items():
            without_effect(option, given, "heads are removed in an order; it is for a budget, what=units and what=both")
        sizes: dict[str, Any] = {"tolerance": tolerance, "drop": drop, "keep": keep, "by_estimate": by_estimate}
        orders: dict[str, Any] = {"order": order, "steps": steps, "randoms": randoms, "anew": anew, "normed": normed}
        parts: dict[str, Any] = {"by": by, "at_least": at_least, "stack": stack}
        return choose_heads(model, tokenizer, data, task=task, **sizes, **orders, **parts, **shared)
    refuse_orders(drop=drop, keep=keep, by=by, order=order, anew=anew, normed=normed, stack=stack)
    without_effect("at_least", at_least or None if what == "units" else None, "no heads go with what='units'")
    budget = Budget.parse(operations, weights, faster, tolerance, by_estimate)
    own = {option: given for option, given in of_budgets.items() if option != "train" and given is not None}
    own |= {"length": find_length(model, length)} | ({} if randoms is None else {"randoms": randoms})
    options = PartOptions(what, budget, at_least=at_least, steps=steps, **own)
    known = find_known_task(data, task)
    check_classifier(model, known)
    return choose_parts(model, tokenizer, data, known, options, train=train, **shared)
