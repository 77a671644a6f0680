"""The smallest model that is good enough: an order of heads and a number, chosen on one part, confirmed on another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, read_data
from headcount.ablation.sweep import sweep
from headcount.core.heads import Head, Layout
from headcount.data.metrics import GENERATED
from headcount.data.tasks import GLUE, Task, find_task
from headcount.errors import DataProblem, InvalidOption
from headcount.models.anatomy import read_anatomy
from headcount.pruning.curves import curve
from headcount.pruning.gates import learn_gates
from headcount.pruning.importance import NORMED, estimate, importance
from headcount.pruning.orders import Order, at_random, by_values, read_order, removals, spare
from headcount.trace.gates import gated

ORDERS = ("importance", "ablation", "taylor", "norm", "gates", "random")
FEWEST = 20
"""Examples of each part at least."""
Progress = Callable[[str, float, float], None]
"""Called with what is being done, the work that is done and all of it."""


@dataclass(frozen=True)
class Target:
    """How small: exactly one of a number of heads to keep and a tolerance, in points of the score."""

    keep: int | None = None
    tolerance: float | None = None

    @classmethod
    def parse(cls, heads: int, drop: str | None, keep: str | None, tolerance: float | None) -> Target:
        """From `--drop 40%`, `--keep 80`, `--keep 80%` or `--tolerance 0.5`.

        >>> Target.parse(144, "25%", None, None).keep, Target.parse(144, None, "80", None).keep
        (108, 80)
        """
        given = [one for one in (drop, keep, tolerance) if one is not None]
        if len(given) != 1:
            raise InvalidOption("say how small: exactly one of --drop 40%, --keep 80, --keep 80%, --tolerance 0.5")
        if tolerance is not None:
            if not tolerance >= 0:
                raise InvalidOption(f"got --tolerance {tolerance:g}; expected 0 or more points of the score")
            return cls(tolerance=tolerance)
        number = _count(drop if drop is not None else str(keep), heads)
        left = heads - number if drop is not None else number
        if not 1 <= left <= heads:
            asked = f"--keep {keep}" if drop is None else f"--drop {drop}"
            raise InvalidOption(f"got {asked}; the model has {heads} heads: keep 1 to {heads}")
        return cls(keep=left)


def _count(text: str, heads: int) -> int:
    try:
        return round(float(text[:-1]) / 100 * heads) if text.endswith("%") else int(text)
    except (ValueError, OverflowError) as error:
        raise InvalidOption(f"got {text!r}; expected a number of heads such as 80, or a share such as 40%") from error


@dataclass
class Smaller:
    """What was chosen and what it is worth: `chosen` and `confirmed` are the curves on the two parts of the data."""

    removed: Order
    order: str
    chosen: xr.Dataset
    confirmed: xr.Dataset
    importance: xr.Dataset | None = None
    notes: list[str] = field(default_factory=list)

    def step(self, part: xr.Dataset) -> xr.Dataset:
        return part.sel(order=self.order, removed=len(self.removed))


def find_smaller(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    target: Target,
    orders: Sequence[str] = ("importance", "random"),
    randoms: int = 3,
    steps: int = 10,
    anew: bool = False,
    normed: bool = True,
    at_least: int = 0,
    stack: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    study: str | Path | None = None,
    name: str = "prune",
    progress: Progress | None = None,
) -> Smaller:
    """The heads that can go, without cutting anything yet.

    One half of the examples gives the order of the heads and, with a tolerance, their number; the other half scores
    the curves and the choice. `orders`: some of importance (Michel's), ablation (the score without each head), taylor,
    norm, gates (learned ones), random, or `file:PATH`; the first one decides, the others are drawn beside it. `anew`:
    importance is computed again after each step. `at_least`: heads that every layer keeps. `stack`: only heads of this
    stack go.
    """
    layout = read_anatomy(model).layout
    known = find_known_task(data, task)
    check_classifier(model, known.kind)
    most = _check(orders, layout, stack, randoms, steps, at_least)
    counts = _counts(target, layout, most, steps)
    parts = read_halves(data, known, limit, seed)
    tell = progress or (lambda *_: None)
    shared: dict[str, Any] = {"task": known, "seed": seed, "max_length": max_length, "out": study}
    found: dict[str, Order] = {}
    estimates: xr.Dataset | None = None
    for one in dict.fromkeys(orders):
        if one == "random":
            found |= {f"random {number}": at_random(layout, seed + number, stack) for number in range(randoms)}
        elif one.startswith("file:"):
            found[one] = read_order(one.removeprefix("file:"), layout, stack)
        elif one == "ablation":
            swept = sweep(
                model, tokenizer, parts[0], by="head", how="zero", stack=stack, name=f"{name}-order", texts=False,
                progress=partial(tell, "ablation"), **shared,
            )  # fmt: skip
            sign = -1 if swept.attrs["higher_is_better"] else 1
            found[one] = by_values(sign * swept["delta"].values, layout, stack)
        elif one == "gates":
            learned = learn_gates(
                model, tokenizer, parts[0], task=known, stacks=None if stack is None else [stack], seed=seed,
                max_length=max_length, progress=partial(tell, "gates"),
            )  # fmt: skip
            # The price that leaves about half of the gates open tells the heads apart best.
            middle = int(np.abs(learned["kept"].values - layout.count / 2).argmin())
            found[one] = by_values(learned["log_a"].values[middle], layout, stack)
        elif one in ORDERS:
            estimator = {"importance": "michel"}.get(one, one)
            estimator += "_normed" if normed and estimator in NORMED else ""
            if estimates is None:
                estimates = importance(
                    model, tokenizer, parts[0], name=name,
                    progress=partial(tell, "importance"), **shared,
                )  # fmt: skip
            found[one] = (
                order_anew(model, tokenizer, parts[0], estimator, steps, stack, estimates, shared)
                if anew
                else by_values(estimate(estimates, estimator), layout, stack)
            )
        else:
            raise InvalidOption(f"got the order {one!r}; expected some of {', '.join(ORDERS)} or file:PATH")
    found = {one: spare(order, layout, at_least) for one, order in found.items()}
    decides = next(iter(found))
    curves = [
        curve(
            model, tokenizer, part, found, steps=counts, name=f"{name}-{what}",
            progress=partial(tell, f"curves, {what} part"), **shared,
        )
        for what, part in zip(("choosing", "confirming"), parts, strict=True)
    ]  # fmt: skip
    count = _choose(curves[0], decides, target, layout)
    return Smaller(found[decides][:count], decides, curves[0], curves[1], estimates)


def _check(orders: Sequence[str], layout: Layout, stack: str | None, randoms: int, steps: int, at_least: int) -> int:
    """How many heads may go at most; what cannot be is refused before anything is computed."""
    if not orders or (list(orders) == ["random"] and randoms < 1) or randoms < 0 or at_least < 0:
        raise InvalidOption("expected at least one order of heads, random ones (randoms) and heads to keep from 0 on")
    for name in orders:
        if name.startswith("file:"):
            read_order(name.removeprefix("file:"), layout, stack)
        elif name not in ORDERS:
            raise InvalidOption(f"got the order {name!r}; expected some of {', '.join(ORDERS)} or file:PATH")
    most = len(spare(at_random(layout, 0, stack), layout, at_least))
    if not most:
        raise InvalidOption(f"every layer is to keep {at_least} heads: none may go; keep fewer")
    removals(most, steps)
    return most


def find_known_task(data: Data, task: str | Task | None) -> Task:
    if isinstance(task, Task):
        return task
    if task is None and isinstance(data, str) and data in GLUE:
        return GLUE[data]
    if task is None:
        raise InvalidOption("say what the data is with task=")
    return find_task(task)


def read_halves(data: Data, task: Task, limit: int | None, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The part of the examples that chooses and the part that confirms."""
    return halves(read_data(data, task), limit, seed)


def halves(table: pd.DataFrame, limit: int | None, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two random halves of the examples, the same for the same seed."""
    if seed < 0:
        raise InvalidOption(f"got seed={seed}; expected 0 or more")
    if limit is not None and limit < 1:
        raise InvalidOption(f"got limit={limit}; expected at least 1")
    order = np.random.default_rng(seed).permutation(len(table))[:limit]
    if len(order) < 2 * FEWEST:
        raise DataProblem(
            f"got {len(order)} examples; expected at least {2 * FEWEST}: half of them choose the heads, half confirm"
        )
    middle = len(order) // 2
    first, second = (table.iloc[np.sort(rows)].reset_index(drop=True) for rows in (order[:middle], order[middle:]))
    return first, second


def order_anew(
    model: PreTrainedModel, tokenizer: Any, data: Data, estimator: str, steps: int, stack: str | None,
    first: xr.Dataset, shared: dict[str, Any],
) -> Order:  # fmt: skip
    """Importance computed again after each step, with the heads that went before at zero."""
    layout = read_anatomy(model).layout
    gates = {one: torch.ones(layout.layers(one), layout.width(one)) for one in layout.stacks}
    order: list[Head] = []
    values, options = first, {key: value for key, value in shared.items() if key != "out"}
    total = len([head for head in layout if stack is None or head.stack == stack])
    for step in range(steps):
        rest = [head for head in by_values(estimate(values, estimator), layout, stack) if head not in order]
        goal = round(total * (step + 1) / steps)
        order += rest[: goal - len(order)]
        for head in order:
            gates[head.stack][head.layer, head.head] = 0
        if step + 1 < steps:
            with gated(model, gates):
                values = importance(model, tokenizer, data, **options)
    return tuple(order)


def _counts(target: Target, layout: Layout, most: int, steps: int) -> list[int]:
    """The numbers of heads to score: the steps, and the one that was asked for."""
    counts = set(removals(most, steps))
    if target.keep is not None:
        gone = layout.count - target.keep
        if gone > most:
            raise InvalidOption(
                f"only {most} of {layout.count} heads may go here (a stack, or heads that every layer keeps): "
                f"keep at least {layout.count - most}"
            )
        counts |= {gone} - {0}
    return sorted(counts)


def _choose(curves: xr.Dataset, order: str, target: Target, layout: Layout) -> int:
    """How many heads go: as many as asked for, or the most whose score stays within the tolerance."""
    if target.keep is not None:
        return layout.count - target.keep
    assert target.tolerance is not None
    sign = 1 if curves.attrs["higher_is_better"] else -1
    points = target.tolerance * (1.0 if curves.attrs["metric"] in GENERATED else 0.01)
    good = sign * curves["delta"].sel(order=order).values >= -points - 1e-12
    fits = [int(count) for count, fine in zip(curves["removed"].values, good, strict=True) if fine]
    return max((count for count in fits if count < layout.count), default=0)
