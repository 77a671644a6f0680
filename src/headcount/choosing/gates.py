"""Learned gates: which heads does the model give up when every open one has its price, and what does each one do?

Two ways: hard-concrete gates (`hard_concrete.py`), trained at one price after the other (`gate_path.py`, Voita et al.
2019), and roles by gates that are pushed up and down (`roles.py`, Nam et al. 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, check_classifier, find_known_task, prepare_job
from headcount.choosing.gate_path import follow_path
from headcount.choosing.halves import read_halves
from headcount.choosing.importance import padding_of
from headcount.choosing.roles import PRICE, RANDOMS, SEEDS, RolePlan, roles_by_gates
from headcount.core.heads import Layout
from headcount.core.options import belongs_to, without_effect
from headcount.core.renamed import renamed
from headcount.core.results import HEAD_DIMS, Labelled, head_coords, label_axes
from headcount.core.schema import Schema, with_schemas
from headcount.core.sweep_schemas import ABLATED
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.progress import Progress
from headcount.engines.run import Run, group_name
from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.fingerprint import find_origin
from headcount.trace.anatomy import read_anatomy
from headcount.trace.session import check_untouched

PRICES = (0.001, 0.003, 0.01, 0.03)
"""The path of prices, where roles are not asked for."""
PAPER = "Voita 2019"
SCHEMAS = {
    "price": Schema("Price of an open gate", "loss", range=(0, None), paper=PAPER),
    "log_a": Schema("log a of the learned gate", "log a", "high: open", signed=True, paper=PAPER),
    "gate": Schema("Learned gate, without noise", "factor", "0: the head is given up", (0, 1), paper=PAPER),
    "open": Schema("Probability that the gate is open", "probability", "1: open", (0, 1), paper=PAPER),
    "kept": Schema("Open gates", "heads", range=(0, None), paper=PAPER),
    "loss": Schema("Loss of the task", "loss", range=(0, None), paper=PAPER),
    "openness": Schema(
        "Learned gate at the price that leaves half of the heads",
        "log a",
        "above 0: rather open; below 0: the head is given up first",
        signed=True,
        category=ABLATED,
        paper=PAPER,
    ),
}


@renamed(
    steps="max_steps=",
    batch="per_device_train_batch_size=",
    rate="learning_rate=",
    strengths="price=",
    weight_rate="train_weights=",
    weight_learning_rate="train_weights=",
    stacks="stack=",
)
@takes_compiled
@writes_study("out")
def learn_gates(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    roles: bool = False,
    price: float | Sequence[float] | None = None,
    max_steps: int = 100,
    learning_rate: float = 0.1,
    train_weights: float | None = None,
    per_device_train_batch_size: int = 32,
    seeds: int | None = None,
    randoms: int | None = None,
    stack: str | Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Gates along a path of prices (lambda), or the role of each head by gates that are pushed up and down.

    Without `roles`, a Dataset with dims (price, stack, layer, head): hard-concrete gates at each `price`, by default
    0.001, 0.003, 0.01 and 0.03, each from where the one before ended. `log_a`, `gate` (without noise; 0: the head is
    given up), `open` (the probability), `kept` (how many gates are above zero) and `loss` (the task's, last tenth of
    the `max_steps` at each price); `openness` (stack, layer, head): log a at the price that leaves about half of the
    heads, which tells them apart best. `train_weights`: a learning rate with which the model's weights are trained
    too, and the model is changed; otherwise it stays as it is.

    With `roles`, a Dataset with dims (stack, layer, head): on one half of the examples and with each of `seeds` seeds
    (3 by default), a gate for each head is fitted on the loss alone, then from there with a push of `price` (0.001 by
    default) towards 1 (G+) and towards 0 (G-), for `max_steps` steps each. `facilitation` is G-, `interference` 1 - G+
    and `irrelevance` G+ (1 - G-), means over the seeds, with `..._least` and `..._most`; `role` is the one whose score
    is above one half in every seed. On the held-out half, along `checked`: `change` of the loss without all
    interfering and without all irrelevant heads, with intervals, beside `randoms` sets (10 by default) of as many
    heads of the same layers, and the `verdict`.

    `stack`: gates for this stack, or these stacks, alone. `out`: a study folder that keeps the gates; the same call
    reads them and, with `roles`, resumes.
    """
    settings: dict[str, Any] = {
        "max_steps": max_steps,
        "per_device_train_batch_size": per_device_train_batch_size,
        "learning_rate": learning_rate,
    }
    check_numbers(**settings, train_weights=train_weights, seeds=seeds, seed=seed, limit=limit, max_length=max_length)
    prices = _check_prices(price, roles)
    belongs_to("name", name, "out", out)
    if out is not None:
        check_untouched(model)
    check_whole(model, "learn gates")
    if roles:
        without_effect("train_weights", train_weights, "roles are those of the model as it is, its weights are frozen")
        randoms = RANDOMS if randoms is None else randoms
        if randoms < 1:
            raise InvalidOption(f"got randoms={randoms}; expected at least 1 random set of heads to compare with")
        known = find_known_task(data, task)
        check_classifier(model, known)
        stacks = _find_stacks(stack, read_anatomy(model).layout)
        halves = read_halves(data, known, limit, seed, tokenizer)
        fitting, held_out = (
            prepare_job(model, tokenizer, half, known, "zero", None, None, seed, max_length) for half in halves
        )
        seeds = SEEDS if seeds is None else seeds
        plan = RolePlan(fitting, held_out, tokenizer, stacks, prices[0], seeds, randoms, settings, limit, seed)
        return roles_by_gates(plan, out, name, progress)
    belongs_to("seeds", seeds, "roles", None)
    belongs_to("randoms", randoms, "roles", None)
    if out is not None and train_weights is not None:
        raise InvalidOption(
            "got train_weights= and out=: gates that are read from a study would leave the weights as they are; leave "
            "one of them out"
        )
    job = prepare_job(model, tokenizer, data, task, "zero", None, limit, seed, max_length)
    chosen = _find_stacks(stack, job.anatomy.layout)
    settings["train_weights"] = train_weights

    def learn(_: Any) -> Labelled:
        states = follow_path(job, padding_of(tokenizer), chosen, prices, settings, seed, progress)
        return _arrays(states, prices, job.anatomy, chosen)

    run = Run(
        group_name("pruning/gates", name),
        find_origin(model, job.fingerprint, seed),
        {
            "task": job.task.name,
            "stacks": chosen,
            "price": prices,
            **settings,
            "limit": limit,
            "max_length": job.encodings.limit,
        },
        job.attributes,
        learn,
    )
    return perform(run, out)


def _check_prices(price: float | Sequence[float] | None, roles: bool) -> list[float]:
    """The prices that were asked for, or the default; exactly one above 0 for roles."""
    if price is None:
        return [PRICE] if roles else list(PRICES)
    prices = [float(price)] if isinstance(price, int | float) else [float(one) for one in price]
    if roles and not (len(prices) == 1 and 0 < prices[0] < float("inf")):
        raise InvalidOption(f"got price={prices}; expected one price above 0 for roles, such as {PRICE}")
    if not prices or not all(0 <= one < float("inf") for one in prices):
        raise InvalidOption(f"got price={prices}; expected at least one price of 0 or more")
    return prices


def _find_stacks(stack: str | Sequence[str] | None, layout: Layout) -> list[str]:
    """The stacks that get gates: those that were asked for, or all."""
    chosen = [stack] if isinstance(stack, str) else list(stack or layout.stacks)
    unknown = [one for one in chosen if one not in layout.stacks]
    if unknown:
        raise InvalidOption(f"got the stack {unknown[0]!r}; the model has {', '.join(layout.stacks)}")
    return chosen


def _arrays(states: list[dict[str, Any]], prices: list[float], anatomy: Anatomy, chosen: list[str]) -> Labelled:
    coords = head_coords(anatomy.layout)
    arrays: dict[str, tuple[Any, ...]] = {}
    for name in ("log_a", "gate", "open"):
        full = np.full((len(states), *(len(coords[dim]) for dim in HEAD_DIMS)), np.nan)
        for number, state in enumerate(states):
            for stack in chosen:
                values = state[name][stack]
                full[number, coords["stack"].index(stack), : values.shape[0], : values.shape[1]] = values
        arrays[name] = (("price", *HEAD_DIMS), full)
    arrays |= {name: (("price",), np.array([state[name] for state in states])) for name in ("kept", "loss")}
    half = int(np.abs(arrays["kept"][1] - anatomy.layout.count / 2).argmin())
    arrays["openness"] = (HEAD_DIMS, arrays["log_a"][1][half])
    return with_schemas(arrays | label_axes({"price": prices} | coords), SCHEMAS)
