"""Training gates at a price (lambda): the loss is the task's plus lambda times the expected number of open gates."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.ablation.job import Job
from headcount.choosing.gate_training import check_finite, heads_present, learning, train_gates
from headcount.choosing.hard_concrete import open_probability, sample_gate, steady_gate
from headcount.engines.progress import Progress

START = 2.0
"""log a at the beginning: the gates of a converged model begin nearly open."""


def follow_path(
    job: Job,
    padding: int,
    chosen: list[str],
    prices: list[float],
    settings: dict[str, Any],
    seed: int,
    progress: Progress | None,
    among: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Train gates for some stacks, each price from where the one before ended; what each price ends with.

    `among`: the examples that batches are drawn from, by default all of the job.
    """
    model, steps, weight_rate = job.model, settings["max_steps"], settings["train_weights"]
    present = {stack: heads_present(job.anatomy, stack) for stack in chosen}
    weights = {stack: torch.full(present[stack].shape, START, requires_grad=True) for stack in chosen}
    generator = torch.Generator().manual_seed(seed)
    groups = [{"params": list(weights.values()), "lr": settings["learning_rate"]}]
    if weight_rate is not None:
        groups.append({"params": [one for one in model.parameters() if one.requires_grad], "lr": weight_rate})
    optimizer = torch.optim.Adam(groups)
    states: list[dict[str, Any]] = []
    done = 0

    def after_step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(prices) * steps)

    gate = partial(sample_gate, generator=generator)
    with learning(model, weight_rate is not None):
        for price in prices:
            penalty = partial(_penalty, price)
            loss = train_gates(
                job, padding, weights, present, optimizer, generator, settings, gate, penalty, after_step, among
            )
            check_finite(weights, f"after the price {price:g}")
            states.append(_state(weights, present, loss))
    return states


def _penalty(price: float, log_a: Tensor) -> Tensor:
    return price * open_probability(log_a)


def _state(weights: dict[str, Tensor], present: dict[str, Tensor], loss: float) -> dict[str, Any]:
    values: dict[str, Any] = {"loss": loss, "log_a": {}, "gate": {}, "open": {}}
    for stack, log_a in weights.items():
        known = log_a.detach()
        for name, tensor in (("log_a", known), ("gate", steady_gate(known)), ("open", open_probability(known))):
            values[name][stack] = torch.where(present[stack], tensor, float("nan")).numpy().copy()
    values["kept"] = sum(int((np.nan_to_num(gate) > 0).sum()) for gate in values["gate"].values())
    return values
