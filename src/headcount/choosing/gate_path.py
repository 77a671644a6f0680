"""Training gates at a price (lambda): the loss is the task's plus lambda times the expected number of open gates."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.ablation.job import Job
from headcount.choosing.hard_concrete import open_probability, sample_gate, steady_gate
from headcount.choosing.importance import batch_of, frozen
from headcount.engines.progress import Progress
from headcount.errors import TrainingDiverged
from headcount.models.anatomy import Anatomy
from headcount.trace.gates import gated
from headcount.trace.modes import evaluating

START = 2.0
"""log a at the beginning: the gates of a converged model begin nearly open."""
OTHERWISE = "give dtype=float32, a lower learning_rate= or another order="
"""What to do where gates cannot be learned."""


def follow_path(
    job: Job,
    padding: int,
    chosen: list[str],
    prices: list[float],
    settings: dict[str, Any],
    seed: int,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Train gates for some stacks, each price from where the one before ended; what each price ends with."""
    model, steps, weight_rate = job.model, settings["max_steps"], settings["weight_learning_rate"]
    mask = {stack: _present(job.anatomy, stack) for stack in chosen}
    weights = {stack: torch.full(mask[stack].shape, START, requires_grad=True) for stack in chosen}
    generator = torch.Generator().manual_seed(seed)
    groups = [{"params": list(weights.values()), "lr": settings["learning_rate"]}]
    if weight_rate > 0:
        groups.append({"params": [one for one in model.parameters() if one.requires_grad], "lr": weight_rate})
    optimizer = torch.optim.Adam(groups)
    states: list[dict[str, Any]] = []
    mode = nullcontext() if weight_rate > 0 else frozen(model)
    with evaluating(model), mode, torch.enable_grad():
        for number, strength in enumerate(prices):
            losses = []
            for step in range(steps):
                size = (settings["per_device_train_batch_size"],)
                rows = torch.randint(len(job.encodings.rows), size, generator=generator).numpy()
                gates = {
                    stack: torch.where(mask[stack], sample_gate(weights[stack], generator), 1.0) for stack in chosen
                }
                _, inputs, labels = batch_of(job, rows, padding)
                with gated(model, gates):
                    lost = job.task.kind.losses(model(**inputs), labels)
                _check_losses(lost, job, rows, step)
                loss = lost.mean()
                price = sum(open_probability(weights[stack])[mask[stack]].sum() for stack in chosen)
                optimizer.zero_grad()
                (loss + strength * price.to(loss.device)).backward()  # type: ignore[union-attr]
                optimizer.step()
                losses.append(float(loss.detach()))
                if progress is not None:
                    progress(number * steps + step + 1, len(prices) * steps)
            if not all(bool(log_a.detach().isfinite().all()) for log_a in weights.values()):
                raise TrainingDiverged(f"the gates are not finite after the price {strength:g}; {OTHERWISE}")
            states.append(_state(weights, mask, float(np.mean(losses[-max(1, steps // 10) :]))))
    return states


def _check_losses(lost: Tensor, job: Job, rows: np.ndarray, step: int) -> None:
    """An error with the example whose loss is not finite."""
    bad = (~lost.detach().isfinite()).nonzero()
    if len(bad):
        raise TrainingDiverged(
            f"the loss is not finite at step {step + 1} of learning gates, first for row "
            f"{job.examples.ids[rows[int(bad[0])]]}; {OTHERWISE}"
        )


def _present(anatomy: Anatomy, stack: str) -> Tensor:
    """[layer, head]: whether the layer has the head."""
    present = torch.zeros(anatomy.layout.layers(stack), anatomy.layout.width(stack), dtype=torch.bool)
    for block in anatomy.stacks[stack]:
        present[block.layer, list(block.heads)] = True
    return present


def _state(weights: dict[str, Tensor], mask: dict[str, Tensor], loss: float) -> dict[str, Any]:
    values: dict[str, Any] = {"loss": loss, "log_a": {}, "gate": {}, "open": {}}
    for stack, log_a in weights.items():
        known = log_a.detach()
        for name, tensor in (("log_a", known), ("gate", steady_gate(known)), ("open", open_probability(known))):
            values[name][stack] = torch.where(mask[stack], tensor, float("nan")).numpy().copy()
    values["kept"] = sum(int((np.nan_to_num(gate) > 0).sum()) for gate in values["gate"].values())
    return values
