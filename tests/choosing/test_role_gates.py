"""Gates move as the formula says: Adam on the loss plus a clipped push; each seed and phase with its own batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.choosing.role_gates import LIMIT, PHASES, START, draw_start, fit_phase, push
from tests import planted
from tests.closeness import EXACT, ROUNDED, assert_same
from tests.pruning import jobs

SETTINGS = {"max_steps": 1, "per_device_train_batch_size": 3, "learning_rate": 0.25}
PRICE = 0.07
ADAM = (0.9, 0.999, 1e-8)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def naive_steps(
    job: Any, start: dict[str, torch.Tensor], sign: float, batches: list[list[int]]
) -> dict[str, np.ndarray]:
    """Adam written out, with the gradient of the mean loss of single examples, on float64 numbers."""
    logits = {stack: values.double().numpy().copy() for stack, values in start.items()}
    first = {stack: np.zeros_like(values) for stack, values in logits.items()}
    second = {stack: np.zeros_like(values) for stack, values in logits.items()}
    for step, rows in enumerate(batches, start=1):
        gates = {stack: torch.tensor(1 / (1 + np.exp(-v)), requires_grad=True) for stack, v in logits.items()}
        total = 0.0
        for row in rows:
            with hc.gated(job.model, gates):
                total = total + job.model(**jobs.alone(job, row)).loss / len(rows)
        slopes = torch.autograd.grad(total, list(gates.values()))  # type: ignore[arg-type]
        for (stack, gate), slope in zip(gates.items(), slopes, strict=True):
            opened = gate.detach().numpy()
            gradient = slope.numpy() * opened * (1 - opened)
            gradient = gradient + sign * PRICE * (np.abs(logits[stack]) <= LIMIT)
            first[stack] = ADAM[0] * first[stack] + (1 - ADAM[0]) * gradient
            second[stack] = ADAM[1] * second[stack] + (1 - ADAM[1]) * gradient**2
            mean, square = first[stack] / (1 - ADAM[0] ** step), second[stack] / (1 - ADAM[1] ** step)
            logits[stack] = logits[stack] - SETTINGS["learning_rate"] * mean / (np.sqrt(square) + ADAM[2])
    return logits


@pytest.mark.parametrize("kind", ["classification", "gpt2", "marian"])
@pytest.mark.parametrize("phase", PHASES)
def test_steps_as_in_the_formula(kind: str, phase: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.prepared(kind, tokenizer)
    drawn: list[list[int]] = []
    real = torch.randint

    def remember(*given: Any, **more: Any) -> torch.Tensor:
        rows = real(*given, **more)
        drawn.append(rows.tolist())
        return rows

    monkeypatch.setattr(torch, "randint", remember)
    start = draw_start(job, list(job.anatomy.layout.stacks), 0, 0)
    next(iter(start.values()))[0, 0] = LIMIT + 1  # beyond the limit, where it is not pushed
    found, _ = fit_phase(job, 0, start, phase, PRICE, SETTINGS | {"max_steps": 2}, 0, 0)
    monkeypatch.undo()
    assert [len(rows) for rows in drawn] == [3, 3]
    expected = naive_steps(job, start, PHASES[phase], drawn)
    for stack, values in found.items():
        assert values.dtype == torch.float64
        assert_same(values, torch.tensor(expected[stack]), ROUNDED if kind == "marian" else 1e3 * EXACT, stack)


def test_the_push_has_limits() -> None:
    logits = torch.tensor([-LIMIT - 1, -1.0, LIMIT + 2], requires_grad=True)
    push(0.5, logits).sum().backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [0.0, 0.5, 0.0]


def test_every_seed_begins_elsewhere(tokenizer: Any) -> None:
    job = jobs.prepared("classification", tokenizer)
    starts = [
        draw_start(job, ["encoder"], seed, number)["encoder"] for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0))
    ]
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])
    assert not torch.equal(starts[0], starts[3])
    assert abs(float(torch.cat(starts).mean()) - START) < 1


def test_a_head_that_does_nothing_goes_where_it_is_pushed(tokenizer: Any) -> None:
    job = jobs.job_of(planted.classifier(), planted.texts(20), jobs.make("classification")[2], tokenizer)
    start = draw_start(job, ["encoder"], 0, 0)
    for phase, sign in PHASES.items():
        found, _ = fit_phase(job, 0, start, phase, 0.1, SETTINGS, 0, 0)
        moved = (found["encoder"] - start["encoder"])[1]  # the heads of layer 1 do nothing
        assert_same(moved, torch.full((2,), -0.25 * sign), ROUNDED)
