"""What each head does for a task, by gates: facilitating, interfering or irrelevant; checked on held-out examples.

Gates are fitted on one half of the examples, phase by phase and seed by seed (`role_gates.py`). The other half then
says whether the loss falls without the interfering heads, and stays without the irrelevant ones (`role_checks.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from scipy.special import expit

from headcount.ablation.job import Job
from headcount.choosing.importance import padding_of
from headcount.choosing.role_checks import Checks, held_out_losses, plan_checks
from headcount.choosing.role_gates import PHASES, Logits, draw_start, fit_phase
from headcount.choosing.role_scores import PAPER, SCHEMAS, score_arrays
from headcount.core.provenance import fingerprint
from headcount.core.results import HEAD_DIMS, ArrayPlan, Labelled, head_coords, label_axes
from headcount.core.schema import Schema, with_schemas
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress, in_step
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import tick
from headcount.models.fingerprint import find_origin
from headcount.trace.precision import wide

PRICE = 0.001
"""Of an open gate while gates are pushed towards 0, and of a closed one while they are pushed towards 1: over the range
of the logits, a head must be worth about a point of the loss (0.01) to resist."""
SEEDS, RANDOMS = 3, 10
FITTED = {
    "values_logit": Schema("Logit of the gate", "logit", "high: open", signed=True, shown=False, paper=PAPER),
    "values_loss": Schema("Loss of the task with these gates", "loss", range=(0, None), shown=False, paper=PAPER),
    "phase": Schema("What the gates were fitted to", "", "free: the loss alone; up, down: pushed towards 1 or 0"),
    "fit_seed": Schema("Seed of the fit", range=(0, None)),
    "gate_free": Schema("Gate fitted on the loss alone", "gate", "mean over seeds", (0, 1), shown=False, paper=PAPER),
    "gate_up": Schema("Gate pushed towards 1", "gate", "mean over seeds", (0, 1), shown=False, paper=PAPER),
    "gate_down": Schema("Gate pushed towards 0", "gate", "mean over seeds", (0, 1), shown=False, paper=PAPER),
}


@dataclass(frozen=True)
class RolePlan:
    """What is fitted and checked: the examples of both halves, the gated stacks, the price and the settings."""

    fitting: Job
    held_out: Job
    tokenizer: Any
    stacks: list[str]
    price: float
    seeds: int
    randoms: int
    settings: dict[str, Any]
    limit: int | None
    seed: int

    @property
    def options(self) -> dict[str, Any]:
        """What must be equal to resume."""
        return {
            "task": self.fitting.task.name,
            "stacks": self.stacks,
            "price": self.price,
            "seeds": self.seeds,
            **self.settings,
            "limit": self.limit,
            "max_length": self.fitting.encodings.limit,
        }

    @property
    def units(self) -> list[tuple[str, int]]:
        """Phase and number of the seed: first the free phase of all seeds, then what starts from it."""
        free, *pushed = PHASES
        numbers = range(self.seeds)
        return [(free, number) for number in numbers] + [(phase, number) for phase in pushed for number in numbers]


def roles_by_gates(plan: RolePlan, out: str | Path | None, name: str | None, progress: Progress | None) -> xr.Dataset:
    """Fit the gates, score and name the roles, and check them on the held-out half."""
    fitted = _fit(plan, out, name, in_step(progress, "fitting gates"))
    gates = _gates_by_phase(plan.units, fitted["values_logit"].values)
    scored = score_arrays(gates["up"], gates["down"])
    layout = plan.held_out.anatomy.layout
    stacks = {stack: number for number, stack in enumerate(layout.stacks)}
    roles = {head: scored["role"][1][stacks[head.stack], head.layer, head.head] for head in layout}
    checks = plan_checks(roles, layout, plan.randoms, plan.seed)
    return _check(plan, checks, scored, out, name, in_step(progress, "held-out examples"))


def _fit(plan: RolePlan, out: str | Path | None, name: str | None, progress: Progress | None) -> xr.Dataset:
    """The gates of every phase and seed; a unit of work is one phase of one seed."""
    units, coords = plan.units, head_coords(plan.fitting.anatomy.layout)
    shape = tuple(len(axis) for axis in coords.values())
    fixed = with_schemas(
        label_axes({"example": np.arange(len(units))} | coords)
        | {
            "phase": (("example",), np.array([phase for phase, _ in units], dtype=object)),
            "fit_seed": (("example",), np.array([number for _, number in units])),
        },
        FITTED,
    )
    run = Run(
        group_name("pruning/roles-fitted", name),
        find_origin(plan.fitting.model, plan.fitting.fingerprint, plan.seed),
        plan.options,
        plan.fitting.attributes,
        partial(_mean_gates, units),
        {
            "values_logit": ArrayPlan(
                ("example", *HEAD_DIMS), (len(units), *shape), "float64", FITTED["values_logit"].attributes()
            ),
            "values_loss": ArrayPlan(("example",), (len(units),), "float64", FITTED["values_loss"].attributes()),
        },
        fixed,
        [(number, number + 1) for number in range(len(units))],
    )
    ledger = Ledger([run], out, progress=progress)
    padding = padding_of(plan.tokenizer)

    def work_of(round_: int, saved: Callable[[], Arrays]) -> Callable[[Unit], dict[str, Arrays]]:
        starts = saved()["values_logit"] if round_ else None

        def work(unit: Unit) -> dict[str, Arrays]:
            phase, number = units[unit.start]
            if starts is not None:
                start = _by_stack(plan, starts[number])
            else:
                start = draw_start(plan.fitting, plan.stacks, plan.seed, number)
            logits, loss = fit_phase(
                plan.fitting,
                padding,
                start,
                phase,
                plan.price,
                plan.settings,
                plan.seed,
                number,
                lambda: tick(1 / plan.settings["max_steps"]),
            )
            arrays = {"values_logit": _whole(plan, logits)[None], "values_loss": np.array([loss])}
            return {run.group: arrays}

        return work

    return ledger.perform_rounds([plan.seeds, len(units)], work_of)


def _mean_gates(units: list[tuple[str, int]], arrays: Arrays) -> Labelled:
    by_phase = _gates_by_phase(units, arrays["values_logit"])
    return with_schemas({f"gate_{phase}": (HEAD_DIMS, gates.mean(0)) for phase, gates in by_phase.items()}, FITTED)


def _gates_by_phase(units: list[tuple[str, int]], logits: np.ndarray) -> dict[str, np.ndarray]:
    """By phase, the gates [seed, stack, layer, head]."""
    gates = expit(logits)
    return {phase: gates[[unit[0] == phase for unit in units]] for phase in PHASES}


def _whole(plan: RolePlan, logits: Logits) -> np.ndarray:
    """[stack, layer, head] of the logits of some stacks, NaN for all other heads."""
    coords = head_coords(plan.fitting.anatomy.layout)
    whole = np.full(tuple(len(axis) for axis in coords.values()), np.nan)
    for stack, values in logits.items():
        whole[coords["stack"].index(stack), : values.shape[0], : values.shape[1]] = values.double().numpy()
    return whole


def _by_stack(plan: RolePlan, whole: np.ndarray) -> Logits:
    """The logits as they are fitted; heads that do not exist begin at 0, which nothing reads."""
    layout = plan.fitting.anatomy.layout
    known = np.nan_to_num(whole)
    return {
        stack: torch.tensor(
            known[list(layout.stacks).index(stack), : layout.layers(stack), : layout.width(stack)],
            dtype=wide(plan.fitting.model.dtype),
        )
        for stack in plan.stacks
    }


def _check(
    plan: RolePlan,
    checks: Checks,
    scored: dict[str, tuple[Any, ...]],
    out: str | Path | None,
    name: str | None,
    progress: Progress | None,
) -> xr.Dataset:
    """Roles and scores with what the held-out examples say; a unit of work is some of these."""
    layout = plan.held_out.anatomy.layout
    arrays = with_schemas(label_axes(head_coords(layout)) | scored, SCHEMAS)
    return held_out_losses(
        plan.held_out,
        padding_of(plan.tokenizer),
        checks,
        group_name("pruning/roles", name),
        {**plan.options, "randoms": plan.randoms, "sets": fingerprint([checks.names])},
        {
            "measure": "roles",
            "summary": "the roles of heads by gates that are pushed up and down",
            "paper": PAPER,
            "price": plan.price,
            "seeds": plan.seeds,
            "randoms": plan.randoms,
            "fitted_on": len(plan.fitting.examples.ids),
            "heads": sum(head.stack in plan.stacks for head in layout),
        },
        arrays,
        plan.seed,
        out,
        progress,
    )
