"""The orders of heads that some examples give: computed here, by name, from what the other files know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.sweep import sweep
from headcount.choosing.gates import learn_gates
from headcount.choosing.importance import NORMED, estimate, importance
from headcount.choosing.orders import Order, at_random, by_values, read_order
from headcount.core.agreement import effects
from headcount.core.heads import Head, Layout
from headcount.engines.progress import Progress, in_step
from headcount.trace.gates import gated

ORDERS = ("importance", "ablation", "taylor", "norm", "gates", "random")
ESTIMATED = ("importance", "taylor", "norm")
"""Those that one pass estimates, and that can be computed again after each step."""


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


def find_orders(
    source: Source, names: Sequence[str], randoms: int, anew: int, normed: bool
) -> tuple[dict[str, Order], xr.Dataset | None]:
    """The orders by name, several random ones, and the importance if it was computed.

    `anew`: importance is computed again in so many steps; 0 for once.
    """
    layout, stack, seed = source.layout, source.stack, source.shared["seed"]
    found: dict[str, Order] = {}
    estimates: xr.Dataset | None = None
    for name in dict.fromkeys(names):
        if name == "random":
            found |= {f"random {number}": at_random(layout, seed + number, stack) for number in range(randoms)}
        elif name.startswith("file:"):
            found[name] = read_order(name.removeprefix("file:"), layout, stack)
        elif name == "ablation":
            found[name] = by_values(_ablation(source), layout, stack)
        elif name == "gates":
            found[name] = by_values(_gates(source), layout, stack)
        else:
            estimator = {"importance": "michel"}.get(name, name)
            estimator += "_normed" if normed and estimator in NORMED else ""
            if estimates is None:
                estimates = importance(
                    source.model,
                    source.tokenizer,
                    source.table,
                    name=source.name,
                    progress=in_step(source.progress, "importance"),
                    **source.shared,
                )
            found[name] = (
                order_anew(source, estimator, anew, estimates)
                if anew
                else by_values(estimate(estimates, estimator), layout, stack)
            )
    return found, estimates


def _ablation(source: Source) -> np.ndarray:
    """What the score loses without each head."""
    swept = sweep(
        source.model,
        source.tokenizer,
        source.table,
        by="head",
        how="zero",
        stack=source.stack,
        name=source.name and f"{source.name}-order",
        texts=False,
        progress=in_step(source.progress, "ablation"),
        **source.shared,
    )
    lost: np.ndarray = effects(swept).values
    return lost


def _gates(source: Source) -> np.ndarray:
    """log a of every head's learned gate, at the price that leaves about half open: it tells the heads apart best."""
    learned = learn_gates(
        source.model,
        source.tokenizer,
        source.table,
        stacks=None if source.stack is None else [source.stack],
        progress=in_step(source.progress, "gates"),
        **_without_study(source),
    )
    middle = int(np.abs(learned["kept"].values - source.layout.count / 2).argmin())
    values: np.ndarray = learned["log_a"].values[middle]
    return values


def order_anew(source: Source, estimator: str, steps: int, first: xr.Dataset) -> Order:
    """Importance computed again after each step, with the heads that went before at zero."""
    layout = source.layout
    gates = {one: torch.ones(layout.layers(one), layout.width(one)) for one in layout.stacks}
    order: list[Head] = []
    values = first
    total = len([head for head in layout if source.stack is None or head.stack == source.stack])
    for step in range(steps):
        rest = [head for head in by_values(estimate(values, estimator), layout, source.stack) if head not in order]
        goal = round(total * (step + 1) / steps)
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
                    **_without_study(source),
                )
    return tuple(order)


def _without_study(source: Source) -> dict[str, Any]:
    return {key: value for key, value in source.shared.items() if key != "out"}
