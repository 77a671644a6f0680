"""The smallest model that is good enough: an order of heads and a number, chosen on one part, confirmed on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, read_data
from headcount.choosing.curves import curve
from headcount.choosing.ordering import ESTIMATED, ORDERS, Source, find_orders
from headcount.choosing.orders import Order, at_random, read_order, removals, spare
from headcount.core.claims import Cut, Verdict, choose_cut, judge_cut
from headcount.core.heads import Layout
from headcount.core.options import belongs_to, no_repeats, without_effect
from headcount.core.writers import writes_study
from headcount.data.blank_rows import leave_out_blank
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task, find_glue, find_task
from headcount.engines.progress import Progress, in_step
from headcount.errors import DataProblem, InvalidOption
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy

FEWEST = 20
"""Examples of each part at least."""
RANDOMS = 3
"""Random orders to compare with."""


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
            check_numbers(tolerance=tolerance)
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
    """What was chosen and what it is worth: curves of the selection half and of the held-out one."""

    removed: Order
    order: str
    chosen: xr.Dataset
    confirmed: xr.Dataset
    importance: xr.Dataset | None = None
    cut: Cut | None = None
    """How the number of heads was chosen, where a tolerance chose it."""
    verdict: Verdict | None = None
    """What the held-out examples say of it."""

    def step(self, part: xr.Dataset) -> xr.Dataset:
        return part.sel(order=self.order, removed=len(self.removed))


@takes_compiled
@writes_study("study")
def find_smaller(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    target: Target,
    orders: Sequence[str] = ("importance", "random"),
    randoms: int | None = None,
    steps: int = 10,
    anew: bool = False,
    normed: bool = True,
    at_least: int = 0,
    stack: str | None = None,
    by_estimate: bool = False,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    study: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Smaller:
    """The heads that can go, without cutting anything yet.

    One half of the examples gives the order of the heads and, with a tolerance, their number; the other half scores
    the curves and the choice. `orders`: some of importance (Michel's), ablation (the score without each head), taylor,
    norm, gates (learned ones), random, or `file:PATH`; the first one decides, the others are drawn beside it.
    `randoms`: how many random orders, 3 by default. `anew`: importance is computed again after each step. `at_least`:
    heads that every layer keeps. `stack`: only heads of this stack go. `by_estimate`: a tolerance is compared with the
    change itself, not with its confidence bound. `name`: of the results in the study, "prune" by default.
    """
    check_numbers(seed=seed, limit=limit, max_length=max_length)
    belongs_to("name", name, "study", study)
    belongs_to("by_estimate", by_estimate, "tolerance", target.tolerance)
    no_repeats("orders", orders)
    if "random" not in orders:
        without_effect("randoms", randoms, f"random is not among the orders ({', '.join(orders)})")
    if not set(orders) & set(ESTIMATED):
        without_effect("anew", anew, f"none of the orders ({', '.join(orders)}) is an estimate of importance")
    randoms = RANDOMS if randoms is None else randoms
    name = None if study is None else name or "prune"
    layout = read_anatomy(model).layout
    known = find_known_task(data, task)
    check_classifier(model, known)
    most = _check(orders, layout, stack, randoms, steps, at_least)
    counts = _counts(target, layout, most, steps)
    parts = read_halves(data, known, limit, seed, tokenizer)
    shared: dict[str, Any] = {"task": known, "seed": seed, "max_length": max_length, "out": study}
    source = Source(model, tokenizer, parts[0], layout, stack, shared, name, progress)
    found, estimates = find_orders(source, orders, randoms, steps if anew else 0, normed)
    found = {one: spare(order, layout, at_least) for one, order in found.items()}
    decides = next(iter(found))
    curves = [
        curve(
            model,
            tokenizer,
            part,
            found,
            steps=counts,
            name=name and f"{name}-{what}",
            progress=in_step(progress, f"curves, {what} part"),
            **shared,
        )
        for what, part in zip(("choosing", "confirming"), parts, strict=True)
    ]
    if target.keep is not None:
        return Smaller(found[decides][: layout.count - target.keep], decides, curves[0], curves[1], estimates)
    assert target.tolerance is not None
    cut = choose_cut(curves[0], decides, target.tolerance, by_estimate)
    verdict = judge_cut(curves[1], decides, cut.count, target.tolerance) if cut.count else None
    return Smaller(found[decides][: cut.count], decides, curves[0], curves[1], estimates, cut, verdict)


def _check(orders: Sequence[str], layout: Layout, stack: str | None, randoms: int, steps: int, at_least: int) -> int:
    """How many heads may go at most; what cannot be is refused before anything is computed."""
    check_numbers(randoms=randoms, at_least=at_least, steps=steps)
    if not orders:
        raise InvalidOption(f"got no order of heads; expected some of {', '.join(ORDERS)} or file:PATH")
    if list(orders) == ["random"] and randoms < 1:
        raise InvalidOption(f"got randoms={randoms}; expected at least 1 random order")
    for name in orders:
        if name.startswith("file:"):
            read_order(name.removeprefix("file:"), layout, stack)
        elif name not in ORDERS:
            raise InvalidOption(f"got the order {name!r}; expected some of {', '.join(ORDERS)} or file:PATH")
    most = len(spare(at_random(layout, 0, stack), layout, at_least))
    if not most:
        raise InvalidOption(
            f"got --at-least {at_least}: every layer keeps all it has, none may go; give a smaller number"
        )
    removals(most, steps)
    return most


def find_known_task(data: Data, task: str | Task | None) -> Task:
    if isinstance(task, Task):
        return task
    glue = find_glue(data)
    if task is None and glue is not None:
        return glue
    if task is None:
        raise InvalidOption("say what the data is with task=")
    return find_task(task)


def read_halves(
    data: Data, task: Task, limit: int | None, seed: int, tokenizer: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The part of the examples that chooses and the part that confirms, without blank rows."""
    table = read_data(data, task)
    return halves(leave_out_blank(table, task.columns(table), task.kind, tokenizer), limit, seed)


def halves(table: pd.DataFrame, limit: int | None, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two random halves of the examples, the same for the same seed; rows keep their numbers in the data."""
    check_numbers(seed=seed, limit=limit)
    order = np.random.default_rng(seed).permutation(len(table))[:limit]
    if len(order) < 2 * FEWEST:
        raise DataProblem(
            f"got {len(order)} examples; expected at least {2 * FEWEST}: half of them choose the heads, half confirm"
        )
    middle = len(order) // 2
    first, second = (table.iloc[np.sort(rows)] for rows in (order[:middle], order[middle:]))
    return first, second


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
