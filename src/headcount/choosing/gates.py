"""Learned gates: which heads does the model give up when every open one has its price? (Voita et al. 2019)

Each head has a hard-concrete gate (`hard_concrete.py`), trained at one price after the other (`gate_path.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, prepare_job
from headcount.choosing.gate_path import follow_path
from headcount.choosing.importance import padding_of
from headcount.core.options import belongs_to
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
from headcount.trace.session import check_untouched

PAPER = "Voita 2019"
SCHEMAS = {
    "strength": Schema("Price of an open gate", "loss", range=(0, None), paper=PAPER),
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
    weight_rate="weight_learning_rate=",
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
    strengths: Sequence[float] = (0.001, 0.003, 0.01, 0.03),
    max_steps: int = 100,
    learning_rate: float = 0.1,
    weight_learning_rate: float = 0.0,
    per_device_train_batch_size: int = 32,
    stack: str | Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Gates along a path of prices (lambda), each from where the one before ended: dims (strength, stack, layer, head).

    `log_a`, `gate` (without noise; 0: the head is given up), `open` (the probability), `kept` (how many gates are above
    zero) and `loss` (the task's, last tenth of the `max_steps` at each price); `openness` (stack, layer, head): log a
    at the price that leaves about half of the heads, which tells them apart best. `stack`: gates for this stack, or
    these stacks, alone. `weight_learning_rate`: above zero the model's weights are trained too, and the model is
    changed; otherwise it stays as it is. `out`: a study folder that keeps the gates; the same call reads them.
    """
    if not strengths or not all(0 <= strength < float("inf") for strength in strengths):
        raise InvalidOption(f"got strengths={list(strengths)}; expected at least one price of 0 or more")
    settings = {
        "max_steps": max_steps,
        "per_device_train_batch_size": per_device_train_batch_size,
        "learning_rate": learning_rate,
        "weight_learning_rate": weight_learning_rate,
    }
    check_numbers(**settings, seed=seed, limit=limit)
    belongs_to("name", name, "out", out)
    if out is not None:
        check_untouched(model)
        if weight_learning_rate > 0:
            raise InvalidOption(
                "got weight_learning_rate= and out=: gates that are read from a study would leave the weights as they "
                "are; leave one of them out"
            )
    check_whole(model, "learn gates")
    job = prepare_job(model, tokenizer, data, task, "zero", None, limit, seed, max_length)
    layout = job.anatomy.layout
    chosen = [stack] if isinstance(stack, str) else list(stack or layout.stacks)
    unknown = [one for one in chosen if one not in layout.stacks]
    if unknown:
        raise InvalidOption(f"got the stack {unknown[0]!r}; the model has {', '.join(layout.stacks)}")
    prices = [float(strength) for strength in strengths]

    def learn(_: Any) -> Labelled:
        states = follow_path(job, padding_of(tokenizer), chosen, prices, settings, seed, progress)
        return _arrays(states, prices, job.anatomy, chosen)

    run = Run(
        group_name("pruning/gates", name),
        find_origin(model, job.fingerprint, seed),
        {
            "task": job.task.name,
            "stacks": chosen,
            "strengths": prices,
            **settings,
            "limit": limit,
            "max_length": job.encodings.limit,
        },
        job.attributes,
        learn,
    )
    return perform(run, out)


def _arrays(states: list[dict[str, Any]], prices: list[float], anatomy: Anatomy, chosen: list[str]) -> Labelled:
    coords = head_coords(anatomy.layout)
    arrays: dict[str, tuple[Any, ...]] = {}
    for name in ("log_a", "gate", "open"):
        full = np.full((len(states), *(len(coords[dim]) for dim in HEAD_DIMS)), np.nan)
        for number, state in enumerate(states):
            for stack in chosen:
                values = state[name][stack]
                full[number, coords["stack"].index(stack), : values.shape[0], : values.shape[1]] = values
        arrays[name] = (("strength", *HEAD_DIMS), full)
    arrays |= {name: (("strength",), np.array([state[name] for state in states])) for name in ("kept", "loss")}
    half = int(np.abs(arrays["kept"][1] - anatomy.layout.count / 2).argmin())
    arrays["openness"] = (HEAD_DIMS, arrays["log_a"][1][half])
    return with_schemas(arrays | label_axes({"strength": prices} | coords), SCHEMAS)
