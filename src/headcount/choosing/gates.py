"""Learned gates: which heads does the model give up when every open one has its price? (Voita et al. 2019)

Each head has a hard-concrete gate: a random number in [0, 1] that is often exactly 0 or 1 and whose distribution has
one parameter, log a. The loss is the task's plus lambda times the expected number of open gates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.job import Data, Job, prepare_job
from headcount.choosing.importance import batch_of, frozen, padding_of
from headcount.core.renamed import renamed
from headcount.core.results import HEAD_DIMS, head_coords
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption, TrainingDiverged
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.gates import gated
from headcount.trace.modes import evaluating

BETA, LOW, HIGH = 0.33, -0.1, 1.1
"""Temperature and limits of the stretched distribution, as in the paper."""
START = 2.0
"""log a at the beginning: the gates of a converged model begin nearly open."""
OTHERWISE = "give dtype=float32, a lower learning_rate= or another order="
"""What to do where gates cannot be learned."""


def sample_gate(log_a: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """A gate for each head, differentiable in log a."""
    noise = torch.rand(log_a.shape, generator=generator, dtype=log_a.dtype).to(log_a.device).clamp(1e-6, 1 - 1e-6)
    soft = torch.sigmoid((noise.log() - (1 - noise).log() + log_a) / BETA)
    return (soft * (HIGH - LOW) + LOW).clamp(0, 1)


def steady_gate(log_a: Tensor) -> Tensor:
    """The gate without noise, as it is used after training."""
    return (torch.sigmoid(log_a) * (HIGH - LOW) + LOW).clamp(0, 1)


def open_probability(log_a: Tensor) -> Tensor:
    """How likely the gate is not zero.

    >>> round(float(open_probability(torch.tensor(0.0))), 3)
    0.688
    """
    return torch.sigmoid(log_a - BETA * math.log(-LOW / HIGH))


@renamed(
    steps="max_steps=",
    batch="per_device_train_batch_size=",
    rate="learning_rate=",
    weight_rate="weight_learning_rate=",
    stacks="stack=",
)
@takes_compiled
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
    progress: Progress | None = None,
) -> xr.Dataset:
    """Gates along a path of prices (lambda), each from where the one before ended: dims (strength, stack, layer, head).

    `log_a`, `gate` (without noise; 0: the head is given up), `open` (the probability), `kept` (how many gates are above
    zero) and `loss` (the task's, last tenth of the `max_steps` at each price). `stack`: gates for this stack, or
    these stacks, alone. `weight_learning_rate`: above zero the model's weights are trained too, and the model is
    changed; otherwise it stays as it is.
    """
    if not strengths or not all(0 <= strength < float("inf") for strength in strengths):
        raise InvalidOption(f"got strengths={list(strengths)}; expected at least one price of 0 or more")
    check_numbers(
        max_steps=max_steps,
        per_device_train_batch_size=per_device_train_batch_size,
        learning_rate=learning_rate,
        weight_learning_rate=weight_learning_rate,
        seed=seed,
        limit=limit,
    )
    job = prepare_job(model, tokenizer, data, task, "zero", None, limit, seed, max_length)
    layout = job.anatomy.layout
    chosen = [stack] if isinstance(stack, str) else list(stack or layout.stacks)
    unknown = [one for one in chosen if one not in layout.stacks]
    if unknown:
        raise InvalidOption(f"got the stack {unknown[0]!r}; the model has {', '.join(layout.stacks)}")
    mask = {one: _present(job.anatomy, one) for one in chosen}
    weights = {one: torch.full(mask[one].shape, START, requires_grad=True) for one in chosen}
    padding = padding_of(tokenizer)
    generator = torch.Generator().manual_seed(seed)
    groups = [{"params": list(weights.values()), "lr": learning_rate}]
    if weight_learning_rate > 0:
        groups.append({"params": [one for one in model.parameters() if one.requires_grad], "lr": weight_learning_rate})
    optimizer = torch.optim.Adam(groups)
    found: list[dict[str, Any]] = []
    mode = nullcontext() if weight_learning_rate > 0 else frozen(model)
    with evaluating(model), mode, torch.enable_grad():
        for number, strength in enumerate(strengths):
            losses = []
            for step in range(max_steps):
                rows = torch.randint(
                    len(job.encodings.rows), (per_device_train_batch_size,), generator=generator
                ).numpy()
                gates = {one: torch.where(mask[one], sample_gate(weights[one], generator), 1.0) for one in chosen}
                _, inputs, labels = batch_of(job, rows, padding)
                with gated(model, gates):
                    lost = job.task.kind.losses(model(**inputs), labels)
                _check_losses(lost, job, rows, step)
                loss = lost.mean()
                price = sum(open_probability(weights[one])[mask[one]].sum() for one in chosen)
                optimizer.zero_grad()
                (loss + strength * price.to(loss.device)).backward()  # type: ignore[union-attr]
                optimizer.step()
                losses.append(float(loss.detach()))
                if progress is not None:
                    progress(number * max_steps + step + 1, len(strengths) * max_steps)
            if not all(bool(one.detach().isfinite().all()) for one in weights.values()):
                raise TrainingDiverged(f"the gates are not finite after the price {strength:g}; {OTHERWISE}")
            found.append(_state(weights, mask, float(np.mean(losses[-max(1, max_steps // 10) :]))))
    return _dataset(found, list(strengths), job.anatomy, chosen, job.task.name)


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


def _dataset(
    found: list[dict[str, Any]], strengths: list[float], anatomy: Anatomy, chosen: list[str], task: str
) -> xr.Dataset:
    coords = head_coords(anatomy.layout)
    arrays = {}
    for name in ("log_a", "gate", "open"):
        full = np.full((len(found), *(len(coords[dim]) for dim in HEAD_DIMS)), np.nan)
        for number, state in enumerate(found):
            for stack in chosen:
                values = state[name][stack]
                full[number, coords["stack"].index(stack), : values.shape[0], : values.shape[1]] = values
        arrays[name] = (("strength", *HEAD_DIMS), full)
    single = {name: (("strength",), np.array([state[name] for state in found])) for name in ("kept", "loss")}
    return xr.Dataset(arrays | single, coords={"strength": strengths, **coords}, attrs={"task": task})
