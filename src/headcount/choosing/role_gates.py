"""A gate in (0, 1) for every head, fitted three times: on the loss alone, pushed towards 1, and pushed towards 0.

After Nam et al. 2025 (Causal Head Gating). The push adds or subtracts lambda times the logit of the gate, which is
clipped: without a limit, a gate that costs nothing would be pushed for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headcount.ablation.job import Job
from headcount.choosing.gate_training import check_finite, heads_present, learning, train_gates
from headcount.trace.precision import wide

PHASES = {"free": 0.0, "up": -1.0, "down": 1.0}
"""By phase, the sign of the price of an open gate; the last two start where the first one ended."""
START, SPREAD = 2.0, 1.0
"""Mean and standard deviation of the logits at the beginning: most heads begin nearly open, each seed with others."""
LIMIT = 4.0
"""Logits beyond this are not pushed any further: gates of 0.018 and 0.982."""
Logits = dict[str, Tensor]
"""By stack, the logits [layer, head] of the gates."""


def draw_start(job: Job, stacks: list[str], seed: int, number: int) -> Logits:
    """The logits that a seed begins with."""
    generator = _generator(seed, number, "start")
    layout, dtype = job.anatomy.layout, wide(job.model.dtype)
    shapes = {stack: (layout.layers(stack), layout.width(stack)) for stack in stacks}
    return {
        stack: (START + SPREAD * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)
        for stack, shape in shapes.items()
    }


def fit_phase(
    job: Job,
    padding: int,
    start: Mapping[str, Tensor],
    phase: str,
    price: float,
    settings: Mapping[str, Any],
    seed: int,
    number: int,
    after_step: Callable[[], None] = lambda: None,
) -> tuple[Logits, float]:
    """The logits after one phase, and the task's loss in its last steps; NaN where a layer has no such head."""
    present = {stack: heads_present(job.anatomy, stack) for stack in start}
    logits = {stack: values.clone().requires_grad_() for stack, values in start.items()}
    optimizer = torch.optim.Adam(list(logits.values()), lr=settings["learning_rate"])
    generator = _generator(seed, number, phase)
    penalty = partial(push, PHASES[phase] * price)
    with learning(job.model):
        loss = train_gates(
            job, padding, logits, present, optimizer, generator, settings, torch.sigmoid, penalty, after_step
        )
    check_finite(logits, f"after the phase {phase!r}")
    known = {stack: torch.where(present[stack], values.detach(), torch.nan) for stack, values in logits.items()}
    return known, loss


def push(price: float, logits: Tensor) -> Tensor:
    """What each gate adds to the loss: the price times its logit, constant beyond the limits.

    >>> push(0.5, torch.tensor([-9.0, 1.0, 9.0])).tolist()
    [-2.0, 0.5, 2.0]
    """
    return price * logits.clamp(-LIMIT, LIMIT)


def _generator(seed: int, number: int, what: str) -> torch.Generator:
    """Its own random numbers for each seed and phase, so that a phase can be resumed alone."""
    drawn = np.random.default_rng([seed, number, ["start", *PHASES].index(what)]).integers(2**31)
    return torch.Generator().manual_seed(int(drawn))
