"""In which order do heads go? By an estimate, by ablation, at random, or as a file says; the least needed first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.choices import Every, heads_of
from headcount.ablation.sweep import sweep
from headcount.choosing.bundles import Bundles
from headcount.choosing.estimators import NORMED, estimate_bundles
from headcount.choosing.gates import learn_gates
from headcount.choosing.importance import importance
from headcount.core.agreement import effects
from headcount.core.heads import Head, Layout
from headcount.core.options import no_repeats, without_effect
from headcount.data.number_options import check_numbers
from headcount.engines.progress import Progress, in_step
from headcount.errors import DataProblem, InvalidOption
from headcount.trace.anatomy import read_anatomy
from headcount.trace.gates import gated

Order = tuple[Head, ...]
ORDERS = ("importance", "ablation", "taylor", "norm", "gates", "random")
ESTIMATED = ("importance", "taylor", "norm")
"""Those that one pass estimates, and that can be computed again after each step."""
DEFAULT = "importance,random"
RANDOMS = 3
"""Random orders to compare with."""


@dataclass(frozen=True)
class Wanted:
    """Which orders: their names, how many random ones, in how many steps importance is computed again (0: once)."""

    names: tuple[str, ...]
    randoms: int
    anew: int
    normed: bool

    @classmethod
    def parse(cls, order: str | Sequence[str], randoms: int | None, steps: int, anew: bool, normed: bool) -> Wanted:
        """From `order="importance,random"` or a list of such names, and the options that belong to some of them.

        >>> Wanted.parse("importance,random", None, 10, False, True).names
        ('importance', 'random')
        """
        names = tuple(order.split(",") if isinstance(order, str) else order)
        no_repeats("order", names)
        if "random" not in names:
            without_effect("randoms", randoms, f"random is not among the orders ({', '.join(names)})")
        if not set(names) & set(ESTIMATED):
            without_effect("anew", anew, f"none of the orders ({', '.join(names)}) is an estimate of importance")
        randoms = RANDOMS if randoms is None else randoms
        check_numbers(randoms=randoms, steps=steps)
        if not names:
            raise InvalidOption(f"got no order of heads; expected some of {', '.join(ORDERS)} or file:PATH")
        if names == ("random",) and randoms < 1:
            raise InvalidOption(f"got randoms={randoms}; expected at least 1 random order")
        return cls(names, randoms, steps if anew else 0, normed)

    def check(self, layout: Layout, stack: str | None, bundles: Bundles) -> None:
        """What cannot be is refused before anything is computed."""
        for name in self.names:
            if name.startswith("file:"):
                read_order(name.removeprefix("file:"), layout, stack, bundles)
            elif name not in ORDERS:
                raise InvalidOption(f"got the order {name!r}; expected some of {', '.join(ORDERS)} or file:PATH")


@dataclass(frozen=True)
class Source:
    """What an order is computed from; `shared` are the options that every computation gets."""

    model: PreTrainedModel
    tokenizer: Any
    table: pd.DataFrame
    layout: Layout
    stack: str | None
    shared: dict[str, Any]
    name: str | None
    """Of the results in the study, where there is one."""
    progress: Progress | None
    by: str = "head"
    """What goes together: a head, or a key/value group."""

    @property
    def bundles(self) -> Bundles:
        return Bundles.of(read_anatomy(self.model), self.by, self.stack)


def find_orders(source: Source, wanted: Wanted) -> tuple[dict[str, Order], xr.Dataset | None]:
    """The orders by name, several random ones, and the importance if it was computed."""
    layout, stack, seed, bundles = source.layout, source.stack, source.shared["seed"], source.bundles
    orders: dict[str, Order] = {}
    estimates: xr.Dataset | None = None
    for name in wanted.names:
        if name == "random":
            orders |= {
                f"random {number}": at_random(layout, seed + number, stack, bundles) for number in range(wanted.randoms)
            }
        elif name.startswith("file:"):
            orders[name] = read_order(name.removeprefix("file:"), layout, stack, bundles)
        elif name == "ablation":
            orders[name] = _ablation(source, bundles)
        elif name == "gates":
            # A group is as open as the most open of its gates.
            orders[name] = by_values(bundles.pooled(_gates(source), layout, np.max), layout, stack)
        else:
            estimator = {"importance": "michel"}.get(name, name)
            estimator += "_normed" if wanted.normed and estimator in NORMED else ""
            if estimates is None:
                estimates = importance(
                    source.model,
                    source.tokenizer,
                    source.table,
                    name=source.name,
                    progress=in_step(source.progress, "importance"),
                    **source.shared,
                )
            orders[name] = (
                order_anew(source, estimator, wanted.anew, estimates)
                if wanted.anew
                else by_values(estimate_bundles(estimates, estimator, bundles, layout), layout, stack)
            )
    return orders, estimates


def by_values(values: np.ndarray, layout: Layout, stack: str | None = None) -> Order:
    """The heads by their values [stack, layer, head], the smallest first; equal ones by their position."""
    stacks = list(layout.stacks)
    heads = heads_of(layout, stack)
    numbers = np.array([values[stacks.index(head.stack), head.layer, head.head] for head in heads])
    if not np.isfinite(numbers).all():
        lost = layout.spell(heads[int(np.flatnonzero(~np.isfinite(numbers))[0])])
        raise InvalidOption(f"{lost} has no value to be ordered by; compute it for all heads of this model")
    return tuple(heads[index] for index in np.argsort(numbers, kind="stable"))


def at_random(layout: Layout, seed: int, stack: str | None = None, bundles: Bundles | None = None) -> Order:
    """A random order: the control that says what a clever one is worth."""
    sets = [(head,) for head in heads_of(layout, stack)] if bundles is None else bundles.sets
    return tuple(head for index in np.random.default_rng(seed).permutation(len(sets)) for head in sets[index])


def read_order(path: str | Path, layout: Layout, stack: str | None = None, bundles: Bundles | None = None) -> Order:
    """The order in a text file: heads such as L3H7, with blanks, commas or lines between, each exactly once."""
    file = Path(path)
    if not file.is_file():
        raise DataProblem(
            f"there is no file {path or 'behind file:'}; expected one with the heads in order, such as L3H7"
        )
    try:
        words = file.read_text(encoding="utf-8").replace(",", " ").split()
    except UnicodeDecodeError as error:
        raise DataProblem(f"{file} is no text; expected heads such as L3H7 L5H0, each once") from error
    order = tuple(head for word in words for head in layout.find(word))
    twice = [head for head, count in Counter(order).items() if count > 1]
    if twice:
        raise DataProblem(f"{file} has {layout.spell(twice[0])} twice; expected every head once")
    missing = [head for head in heads_of(layout, stack) if head not in order]
    if missing:
        raise DataProblem(f"{file} has no {layout.spell(missing[0])} ({len(missing)} missing); expected every head")
    order = tuple(head for head in order if stack is None or head.stack == stack)
    if bundles is not None:
        bundles.check_order(order, layout, str(file))
    return order


def spare(order: Sequence[Head], layout: Layout, at_least: int, together: int = 1) -> Order:
    """The order without the heads that would leave a layer with fewer than `at_least`: these stay.

    `together`: how many heads, next to each other in the order, go or stay as one.
    """
    left = Counter((head.stack, head.layer) for head in layout)
    kept: list[Head] = []
    for start in range(0, len(order), together):
        heads = order[start : start + together]
        layer = heads[0].stack, heads[0].layer
        if left[layer] - len(heads) >= at_least:
            left[layer] -= len(heads)
            kept += heads
    return tuple(kept)


def removals(total: int, steps: int, together: int = 1) -> list[int]:
    """How many heads are gone after each of `steps` steps, all of them after the last.

    >>> removals(144, 4), removals(270, 4, together=3)
    ([36, 72, 108, 144], [66, 135, 204, 270])
    """
    check_numbers(steps=steps)
    bundles = total // together
    return sorted({together * max(1, round(bundles * step / steps)) for step in range(1, steps + 1)})


def _ablation(source: Source, bundles: Bundles) -> Order:
    """By what the score loses without each head, or without all heads of a group."""
    swept = sweep(
        source.model,
        source.tokenizer,
        source.table,
        by=Every("head", source.stack) if bundles.by == "head" else bundles.sets,
        how="zero",
        name=source.name and f"{source.name}-order",
        texts=False,
        progress=in_step(source.progress, "ablation"),
        **source.shared,
    )
    lost: np.ndarray = effects(swept).values
    if bundles.by == "head":
        return by_values(lost, source.layout, source.stack)
    return bundles.arrange(np.argsort(lost, kind="stable").tolist())


def _gates(source: Source) -> np.ndarray:
    """How firmly the learned gate of each head stays open."""
    learned = learn_gates(
        source.model,
        source.tokenizer,
        source.table,
        stack=source.stack,
        name=source.name,
        progress=in_step(source.progress, "gates"),
        **source.shared,
    )
    values: np.ndarray = learned["openness"].values
    return values


def order_anew(source: Source, estimator: str, steps: int, first: xr.Dataset) -> Order:
    """Importance computed again after each step, with the heads that went before at zero."""
    layout, bundles = source.layout, source.bundles
    gates = {one: torch.ones(layout.layers(one), layout.width(one)) for one in layout.stacks}
    order: list[Head] = []
    values = first
    total = len([head for head in layout if source.stack is None or head.stack == source.stack])
    for step in range(steps):
        ranked = by_values(estimate_bundles(values, estimator, bundles, layout), layout, source.stack)
        rest = [head for head in ranked if head not in order]
        goal = bundles.whole(total * (step + 1) / steps)
        order += rest[: goal - len(order)]
        for head in order:
            gates[head.stack][head.layer, head.head] = 0
        if step + 1 < steps:
            with gated(source.model, gates):
                values = importance(
                    source.model,
                    source.tokenizer,
                    source.table,
                    progress=in_step(source.progress, f"importance, step {step + 2} of {steps}"),
                    **source.shared | {"out": None},
                )
    return tuple(order)
