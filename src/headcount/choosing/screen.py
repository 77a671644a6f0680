"""Which heads are worth an exact sweep? Those that one backward pass ranks highest, and a random control."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from headcount.ablation.choices import Estimates, Screened, heads_of
from headcount.ablation.hows import How
from headcount.ablation.job import Data
from headcount.choosing.attribution import attribution, check_patch
from headcount.choosing.estimators import estimate as estimated_values
from headcount.choosing.importance import importance
from headcount.choosing.orders import Order, by_values
from headcount.core.heads import Head, Layout
from headcount.core.options import one_of, without_effect
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.compute import Compute
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy

ESTIMATES = {"importance": "michel", "taylor": "gate", "norm": "norm"}
"""By the name of a screening, the estimator that ranks: by size, since effects of either sign are looked for."""
ATTRIBUTION = "attribution"
"""The screening of heads that are patched."""
SCREENS = (*ESTIMATES, ATTRIBUTION)
TOP, CONTROL = 64, 32


@takes_compiled
@writes_study("out")
def screen(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    estimate: str = "importance",
    how: How | None = None,
    metric: str | None = None,
    top: int = TOP,
    control: int | None = None,
    stack: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    progress: Progress | None = None,
) -> Screened:
    """The heads to sweep in a large model, for `by=` of `headcount.sweep`: the top ones, and a control.

    One forward and one backward pass over `data` ranks all heads (of one `stack`) by `estimate`: `importance` (the
    mean absolute slope of the loss), `taylor` (the size of the mean slope) or `norm` (of the head's output); or, for a
    sweep with `how=Patch(...)`, by the size of its `attribution` (`headcount.attribution`), with the same `how=` and
    `metric=`: the sweep then also says how well it agrees with exact patching, and where it fails. The `top`
    ones are selected, and as a `control` (by default 32, or fewer if there are no more) heads drawn at random, with
    `seed`, among all others. The sweep then also says how many of the heads that were not run may have an effect.
    `out`: a study folder, which gets the estimates; the other options as for `importance`.
    """
    one_of("estimate", estimate, SCREENS)
    check_numbers(top=top, control=control)
    if estimate != ATTRIBUTION:
        for option, given in (("how", how), ("metric", metric)):
            without_effect(option, given, f"estimate={estimate!r} is about the loss; attribution takes it")
    layout = read_anatomy(model).layout
    _check_sizes(top, control, len(heads_of(layout, stack)))
    # Every shard ranks all heads: its part of the examples might rank them differently.
    whole = replace(compute or Compute(), shard=None, memory=None, compiled=None)
    shared: dict[str, Any] = {"task": task, "limit": limit, "seed": seed, "max_length": max_length, "out": out}
    shared |= {"name": name, "compute": whole, "progress": progress}
    if estimate != ATTRIBUTION:
        found = importance(model, tokenizer, data, **shared)
        ranked = by_values(estimated_values(found, ESTIMATES[estimate]), layout, stack)
        return select_heads(ranked, estimate, top, control, seed, stack)
    patch = check_patch("patch" if how is None else how)
    found = attribution(model, tokenizer, data, how=patch, metric=metric, stack=stack, **shared)
    ranked = by_values(np.abs(found["attribution"].values), layout, stack)
    selected = select_heads(ranked, estimate, top, control, seed, stack)
    heads = (*selected.top, *selected.control)
    values = _of_heads(found["values_attribution"].values, heads, layout)
    estimates = Estimates(patch, found.attrs["metric"], found.attrs["identity"]["data"], heads, values)
    return replace(selected, estimates=estimates)


def _of_heads(values: np.ndarray, heads: tuple[Head, ...], layout: Layout) -> np.ndarray:
    """[example, head] of some heads, from [example, stack, layer, head]."""
    stacks = list(layout.stacks)
    return np.stack([values[:, stacks.index(head.stack), head.layer, head.head] for head in heads], 1).astype(float)


def select_heads(
    ranked: Order, estimate: str, top: int, control: int | None, seed: int, stack: str | None = None
) -> Screened:
    """The last `top` heads of an order (the most needed ones) and some of the others, drawn at random."""
    others = ranked[: len(ranked) - top]
    drawn = min(CONTROL, len(others)) if control is None else control
    numbers = np.random.default_rng(seed).choice(len(others), drawn, replace=False)
    sample = tuple(others[number] for number in sorted(numbers))
    return Screened(estimate, tuple(reversed(ranked[len(others) :])), sample, len(ranked), stack)


def _check_sizes(top: int, control: int | None, count: int) -> None:
    """Refuse sizes that leave nothing out, before anything is computed."""
    if top >= count:
        raise InvalidOption(f"got top={top}; expected fewer than the {count} heads: a sweep without screen= runs all")
    if control is not None and top + control > count:
        raise InvalidOption(f"got control={control}; expected at most {count - top}, the heads that are not top ones")
