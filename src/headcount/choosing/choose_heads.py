"""Which heads can go: an order of heads and a number of them, selected on one half, evaluated on the held-out half.

Feed-forward units, and budgets of operations, weights or time, are chosen in the room `budgets/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task, task_metric
from headcount.choosing.bundles import ONE_BY_ONE, Bundles
from headcount.choosing.curves import curve
from headcount.choosing.halves import read_halves
from headcount.choosing.orders import DEFAULT, Order, Source, Wanted, at_random, find_orders, removals, spare
from headcount.core.claims import Cut, Verdict, choose_cut, judge_cut
from headcount.core.heads import Layout
from headcount.core.html_table import html_table
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.progress import Progress, in_step
from headcount.errors import InvalidOption
from headcount.trace.anatomy import read_anatomy

SHOWN = 24
"""Heads that a notebook lists."""


@dataclass
class Choice:
    """The heads that can go, and the evidence: the curves of the half that selected them and of the held-out one."""

    heads: Order
    """Those to prune, in the order in which they go."""
    order: str
    selection: xr.Dataset
    held_out: xr.Dataset
    importance: xr.Dataset | None = None
    cut: Cut | None = None
    """How the number of heads was chosen, where a tolerance chose it."""
    verdict: Verdict | None = None
    """What the held-out examples say of it."""

    @property
    def parts(self) -> Order:
        """What `prune` takes: the same name as for a choice of heads and units."""
        return self.heads

    def step(self, part: xr.Dataset) -> xr.Dataset:
        """The point of a curve where these heads are gone."""
        return part.sel(order=self.order, removed=len(self.heads))

    def _repr_html_(self) -> str:
        """In a notebook: the heads, and their scores on both halves."""
        spelled = list(map(str, self.selection["sequence"].sel(order=self.order).values[: len(self.heads)]))
        some = ", ".join(spelled[:SHOWN]) + (", ..." if len(spelled) > SHOWN else "")
        whole = self.selection.attrs.get("heads")
        rows = [("heads to prune", f"{len(self.heads)}{f' of {whole}' if whole else ''}: {some or 'none'}")]
        rows.append(("in the order of", self.order))
        for title, half in (("half that selected them", self.selection), ("held-out half", self.held_out)):
            rows.append((title, _score_of(half, self.step(half) if self.heads else None)))
        return html_table(rows, "hc.show(choice) draws the curve of the held-out half.")


def _score_of(half: xr.Dataset, step: xr.Dataset | None) -> str:
    """The score of a half of the examples without the heads, and its change with its interval."""
    attributes, base = half.attrs, float(half["baseline"])
    said = f"{attributes.get('metric', 'score')} {base:.4g} on {attributes.get('examples', '?')} examples"
    if step is None:
        return said
    delta, low, high = (float(step[name]) for name in ("delta", "low", "high"))
    return f"{said}, without them {float(step['score']):.4g} ({delta:+.4f} [{low:+.4f}, {high:+.4f}])"


def choose_heads(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    tolerance: float | None = None,
    drop: int | str | None = None,
    keep: int | str | None = None,
    by_estimate: bool = False,
    by: str = "head",
    order: str | Sequence[str] = DEFAULT,
    steps: int = 10,
    randoms: int | None = None,
    anew: bool = False,
    normed: bool = True,
    at_least: int = 0,
    stack: str | None = None,
    metric: Any = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    study: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Choice:
    """The heads that can go: see `choose`, which checks and stores."""
    wanted = Wanted.parse(order, randoms, steps, anew, normed)
    anatomy = read_anatomy(model)
    layout, bundles = anatomy.layout, Bundles.of(anatomy, by, stack)
    target = Target.parse(layout.count, drop, keep, tolerance, bundles)
    known = find_known_task(data, task)
    task_metric(known, metric)
    check_classifier(model, known)
    wanted.check(layout, stack, bundles)
    counts = target.counts(layout, _most(layout, stack, at_least, bundles), steps, bundles.size)
    name = None if study is None else name or "prune"
    shared: dict[str, Any] = {"task": known, "seed": seed, "max_length": max_length, "out": study}

    parts = read_halves(data, known, limit, seed, tokenizer)
    source = Source(model, tokenizer, parts[0], layout, stack, shared, name, progress, by)
    orders, estimates = find_orders(source, wanted)
    orders = {key: spare(heads, layout, at_least, bundles.size) for key, heads in orders.items()}
    selection, held_out = (
        curve(
            model,
            tokenizer,
            part,
            orders,
            steps=counts,
            by=by,
            metric=metric,
            name=name and f"{name}-{half}",
            progress=in_step(progress, f"curves, {half} part"),
            **shared,
        )
        for half, part in zip(("choosing", "confirming"), parts, strict=True)
    )
    decides = next(iter(orders))
    if target.tolerance is None:
        return Choice(orders[decides][: layout.count - target.keep], decides, selection, held_out, estimates)
    cut = choose_cut(selection, decides, target.tolerance, by_estimate)
    verdict = judge_cut(held_out, decides, cut.count, target.tolerance) if cut.count else None
    return Choice(orders[decides][: cut.count], decides, selection, held_out, estimates, cut, verdict)


@dataclass(frozen=True)
class Target:
    """How small: a number of heads to keep, or a tolerance in points of the score."""

    keep: int = 0
    tolerance: float | None = None

    @classmethod
    def parse(
        cls,
        heads: int,
        drop: int | str | None,
        keep: int | str | None,
        tolerance: float | None,
        bundles: Bundles = ONE_BY_ONE,
    ) -> Target:
        """From exactly one of the three; a share is rounded to whole bundles.

        >>> Target.parse(144, "25%", None, None).keep, Target.parse(144, None, 80, None).keep
        (108, 80)
        """
        if sum(given is not None for given in (drop, keep, tolerance)) != 1:
            raise InvalidOption("say how small: exactly one of drop=40%, keep=80, keep=80%, tolerance=0.5")
        if tolerance is not None:
            check_numbers(tolerance=tolerance)
            return cls(tolerance=tolerance)
        text = str(keep if drop is None else drop)
        number = _count(text, heads)
        left = round(number) if drop is None else heads - round(number)
        if text.endswith("%"):
            left = heads - bundles.whole(heads - number if drop is None else number)
        asked = f"keep={keep}" if drop is None else f"drop={drop}"
        if (heads - left) % bundles.size:
            near = bundles.whole(heads - left)
            raise InvalidOption(
                f"got {asked}; the groups have {bundles.size} heads, so that a multiple of {bundles.size} can go: give "
                f"{f'keep={heads - near}' if drop is None else f'drop={near}'}, or by='head'"
            )
        if not 1 <= left <= heads:
            raise InvalidOption(f"got {asked}; the model has {heads} heads: keep 1 to {heads}")
        return cls(keep=left)

    def counts(self, layout: Layout, most: int, steps: int, together: int = 1) -> list[int]:
        """The numbers of heads to score: the steps, and the one that was asked for."""
        counts = set(removals(most, steps, together))
        if self.tolerance is None:
            gone = layout.count - self.keep
            if gone > most:
                raise InvalidOption(
                    f"only {most} of {layout.count} heads may go here (a stack, or heads that every layer keeps): "
                    f"keep at least {layout.count - most}"
                )
            counts |= {gone} - {0}
        return sorted(counts)


def _count(text: str, heads: int) -> float:
    """A number of heads, not yet rounded where a share gives it."""
    try:
        number = float(text[:-1]) / 100 * heads if text.endswith("%") else int(text)
        round(number)
    except (ValueError, OverflowError) as error:
        raise InvalidOption(f"got {text!r}; expected a number of heads such as 80, or a share such as 40%") from error
    return number


def _most(layout: Layout, stack: str | None, at_least: int, bundles: Bundles) -> int:
    """How many heads may go at most."""
    most = len(spare(at_random(layout, 0, stack, bundles), layout, at_least, bundles.size))
    if not most:
        raise InvalidOption(
            f"got at_least={at_least}: every layer keeps all it has, none may go; give a smaller number"
        )
    return most
