"""Training a gate for every head: the task's loss plus a penalty on the gates, step by step, on random batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.ablation.job import Job
from headcount.choosing.importance import batch_of, frozen
from headcount.errors import TrainingDiverged
from headcount.models.anatomy import Anatomy
from headcount.trace.gates import gated
from headcount.trace.modes import evaluating

OTHERWISE = "give dtype=float32, a lower learning_rate= or another order="
"""What to do where gates cannot be learned."""
OfGates = Callable[[Tensor], Tensor]
"""A number for each head [layer, head], from the parameters of a stack."""


@contextmanager
def learning(model: Any, weights_too: bool = False) -> Iterator[None]:
    """Gradients for gates, and for the weights only where these are trained too."""
    with evaluating(model), nullcontext() if weights_too else frozen(model), torch.enable_grad():
        yield


def train_gates(
    job: Job,
    padding: int,
    weights: Mapping[str, Tensor],
    present: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    settings: Mapping[str, Any],
    gate: OfGates,
    penalty: OfGates,
    after_step: Callable[[], None],
    among: np.ndarray | None = None,
) -> float:
    """Some steps on the parameters (`weights` by stack, [layer, head]); the task's loss in the last tenth of them.

    `gate` makes the gates and `penalty` what each adds to the loss; only heads that are `present` have either.
    `among`: the examples that batches are drawn from, by default all of the job.
    """
    losses = []
    among = np.arange(len(job.encodings.rows)) if among is None else among
    for step in range(settings["max_steps"]):
        size = (settings["per_device_train_batch_size"],)
        rows = among[torch.randint(len(among), size, generator=generator).numpy()]
        gates = {stack: torch.where(present[stack], gate(values), 1.0) for stack, values in weights.items()}
        _, inputs, labels = batch_of(job, rows, padding)
        with gated(job.model, gates):
            lost = job.task.kind.losses(job.model(**inputs), labels)
        _check_losses(lost, job, rows, step)
        loss = lost.mean()
        price = sum(penalty(values)[present[stack]].sum() for stack, values in weights.items())
        optimizer.zero_grad()
        (loss + price.to(loss.device)).backward()  # type: ignore[union-attr]
        optimizer.step()
        losses.append(float(loss.detach()))
        after_step()
    return float(np.mean(losses[-max(1, len(losses) // 10) :]))


def check_finite(weights: Mapping[str, Tensor], when: str) -> None:
    """An error where the parameters of the gates are not finite."""
    if not all(bool(values.detach().isfinite().all()) for values in weights.values()):
        raise TrainingDiverged(f"the gates are not finite {when}; {OTHERWISE}")


def heads_present(anatomy: Anatomy, stack: str) -> Tensor:
    """[layer, head]: whether the layer has the head."""
    present = torch.zeros(anatomy.layout.layers(stack), anatomy.layout.width(stack), dtype=torch.bool)
    for block in anatomy.stacks[stack]:
        present[block.layer, list(block.heads)] = True
    return present


def _check_losses(lost: Tensor, job: Job, rows: np.ndarray, step: int) -> None:
    """An error with the example whose loss is not finite."""
    bad = (~lost.detach().isfinite()).nonzero()
    if len(bad):
        raise TrainingDiverged(
            f"the loss is not finite at step {step + 1} of learning gates, first for row "
            f"{job.examples.ids[rows[int(bad[0])]]}; {OTHERWISE}"
        )
