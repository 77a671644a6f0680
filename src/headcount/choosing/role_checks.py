"""Are the roles of heads right? The loss of held-out examples without them, beside random heads of the same layers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from headcount.ablation.ablated import ablated
from headcount.ablation.job import Job
from headcount.ablation.matched_sets import draw_alike
from headcount.choosing.importance import CPU_TOKENS, GPU_TOKENS, GPU_UNIT, UNIT, batch_of, check_losses
from headcount.core.claims import ROLES, judge_role
from headcount.core.heads import Head, HeadSet, Layout
from headcount.core.mean_changes import mean_changes
from headcount.core.results import ArrayPlan, Labelled, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.data.batches import by_length, plan_batches
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit
from headcount.engines.workers import tick
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import find_origin
from headcount.trace.modes import evaluating

CHECKED = ROLES[1:]
"""The roles that say what happens without the heads: the loss falls, or it stays."""
WHOLE = "whole model"
SCHEMAS = {
    "checked": Schema("Role that was checked on held-out examples"),
    "variant": Schema("What was ablated"),
    "values_loss": Schema("Loss of each held-out example", "loss", range=(0, None), shown=False),
    "baseline": Schema("Loss of the whole model", "loss", "on held-out examples", (0, None)),
    "checked_size": Schema("Heads with this role", "heads", range=(0, None)),
    "checked_heads": Schema("The heads with this role"),
    "change": Schema("Change of the loss without them", "loss", "below 0: better without them", signed=True),
    "random_change": Schema("Change without random heads of the same layers", "loss", "mean", signed=True),
    "random_set": Schema("Change without each random set", "loss", signed=True),
    "random_shared": Schema("Heads of the random sets that have the role too", "share", range=(0, 1)),
    "beyond_random": Schema("Change beyond that of random heads", "loss", "below 0: better", signed=True),
    "verdict": Schema("What held-out examples say about the role"),
}


@dataclass(frozen=True)
class Checks:
    """The heads of each role that is checked, and random sets to compare with; a role without heads has none."""

    heads: Mapping[str, HeadSet]
    draws: Mapping[str, list[HeadSet]]
    randoms: int

    @property
    def variants(self) -> list[HeadSet | None]:
        """What is run: the whole model, then the heads of each role with their random sets."""
        return [None, *[each for role in self.draws for each in (self.heads[role], *self.draws[role])]]

    @property
    def names(self) -> list[str]:
        return [WHOLE if heads is None else str(heads) for heads in self.variants]


def plan_checks(roles: Mapping[Head, float], layout: Layout, randoms: int, seed: int) -> Checks:
    """The sets to ablate, from the number of every head's role (NaN: it has no gate)."""
    heads = {
        role: HeadSet.of([head for head, number in roles.items() if number == ROLES.index(role)], layout)
        for role in CHECKED
    }
    draws = {role: draw_alike(some, layout, randoms, seed) for role, some in heads.items() if some}
    return Checks(heads, draws, randoms)


def held_out_losses(
    job: Job,
    padding: int,
    checks: Checks,
    group: str,
    options: Mapping[str, Any],
    attributes: Mapping[str, Any],
    known: Labelled,
    seed: int,
    out: str | Path | None,
    progress: Progress | None,
) -> xr.Dataset:
    """The loss of every held-out example for every variant, and what these say; beside what is `known` of the heads."""
    cuda = input_device(job.model).type == "cuda"
    size, tokens = (GPU_UNIT, GPU_TOKENS) if cuda else (UNIT, CPU_TOKENS)
    order = by_length(job.encodings.lengths)
    count, variants = len(order), checks.variants
    along = {
        "example": (("example",), np.asarray(job.examples.ids)[order]),
        "variant": (("variant",), np.array([f"{n}: {name}" for n, name in enumerate(checks.names)], dtype=object)),
    }
    run = Run(
        group,
        find_origin(job.model, job.fingerprint, seed),
        options,
        {**job.attributes, **attributes, "examples": count},
        partial(_summarise, checks, seed),
        {
            "values_loss": ArrayPlan(
                ("example", "variant"), (count, len(variants)), "float64", SCHEMAS["values_loss"].attributes()
            )
        },
        {**with_schemas(along, SCHEMAS), **known},
        [(start, min(start + size, count)) for start in range(0, count, size)],
    )
    ledger = Ledger([run], out, progress=progress)

    def work(unit: Unit) -> dict[str, Arrays]:
        rows = order[unit.start : unit.stop]
        batches = [rows[first:last] for first, last in plan_batches(job.encodings.lengths[rows], tokens)]
        losses = []
        for batch in batches:
            columns = []
            for heads in variants:
                columns.append(_losses(job, batch, padding, heads))
                tick(len(batch) / len(variants))
            losses.append(np.stack(columns, -1))
        return {run.group: {"values_loss": np.concatenate(losses)}}

    with evaluating(job.model), torch.no_grad():
        return ledger.perform(work)[0]


def _losses(job: Job, rows: np.ndarray, padding: int, heads: HeadSet | None) -> np.ndarray:
    """The loss of each of some examples without some heads."""
    _, inputs, labels = batch_of(job, rows, padding)
    with nullcontext() if heads is None else ablated(job.model, heads):
        lost = job.task.kind.losses(job.model(**inputs), labels)
    check_losses(job, rows, padding, lost)
    return lost.double().cpu().numpy()


def _summarise(checks: Checks, seed: int, arrays: Arrays) -> Labelled:
    """For each role, the change of the loss without its heads, beside random ones, and the verdict."""
    losses = arrays["values_loss"]
    changes = (losses[:, 1:] - losses[:, :1]).T
    weights = np.ones(len(losses))
    shape = (len(CHECKED), checks.randoms)
    own, beyond = np.full((3, len(CHECKED)), np.nan), np.full((3, len(CHECKED)), np.nan)
    drawn, shared = np.full(shape, np.nan), np.full(len(CHECKED), np.nan)
    verdicts = ["no heads"] * len(CHECKED)
    for place, role in enumerate(checks.draws):
        rows = changes[place * (1 + checks.randoms) : (place + 1) * (1 + checks.randoms)]
        tested = mean_changes(np.stack([rows[0], rows[0] - rows[1:].mean(0)]), weights, seed)
        number = CHECKED.index(role)
        own[:, number], beyond[:, number] = np.array([tested.delta, tested.low, tested.high]).T
        drawn[number] = rows[1:].mean(1)
        mine = set(checks.heads[role])
        shared[number] = np.mean([len(mine & set(heads)) / len(mine) for heads in checks.draws[role]])
        verdicts[number] = judge_role(role, own[1, number], own[2, number])
    along = ("checked",)
    result: dict[str, tuple[Any, ...]] = {
        "checked": (along, np.array(CHECKED, dtype=object)),
        "checked_size": (along, np.array([len(checks.heads[role]) for role in CHECKED])),
        "checked_heads": (along, np.array([str(checks.heads[role]) for role in CHECKED], dtype=object)),
        "baseline": ((), float(losses[:, 0].mean())),
        **with_interval("change", along, list(own)),
        "random_change": (along, drawn.mean(1)),
        "random_set": ((*along, "draw"), drawn),
        "random_shared": (along, shared),
        **with_interval("beyond_random", along, list(beyond)),
        "verdict": (along, np.array(verdicts, dtype=object)),
    }
    return with_schemas(result, SCHEMAS)
