"""Do gates follow the hard concrete distribution?"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headcount.choosing.hard_concrete import BETA, HIGH, LOW, open_probability, sample_gate, steady_gate

LOG_A = torch.linspace(-6, 6, 25, dtype=torch.float64)


def test_the_numbers_of_the_paper() -> None:
    assert (BETA, LOW, HIGH) == (0.33, -0.1, 1.1)


def test_a_sample_is_the_formula() -> None:
    noise = torch.rand(LOG_A.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    expected = []
    for u, log_a in zip(noise.tolist(), LOG_A.tolist(), strict=True):
        soft = 1 / (1 + math.exp(-(math.log(u) - math.log(1 - u) + log_a) / 0.33))
        expected.append(min(1.0, max(0.0, soft * 1.2 - 0.1)))
    found = sample_gate(LOG_A, torch.Generator().manual_seed(4))
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_without_noise() -> None:
    expected = (1 / (1 + np.exp(-LOG_A.numpy())) * 1.2 - 0.1).clip(0, 1)
    np.testing.assert_allclose(steady_gate(LOG_A), expected)
    assert float(steady_gate(torch.tensor(-2.5))) == 0
    assert float(steady_gate(torch.tensor(2.5))) == 1
    assert float(steady_gate(torch.tensor(0.0))) == pytest.approx(0.5)


def test_how_likely_a_gate_is_open() -> None:
    """Against the formula, and against many samples."""
    expected = 1 / (1 + np.exp(-(LOG_A.numpy() - 0.33 * np.log(0.1 / 1.1))))
    np.testing.assert_allclose(open_probability(LOG_A), expected)
    generator = torch.Generator().manual_seed(0)
    samples = torch.stack([sample_gate(LOG_A, generator) for _ in range(20_000)])
    np.testing.assert_allclose((samples > 0).double().mean(0), expected, atol=0.015)
    assert float(samples.min()) == 0
    assert float(samples.max()) == 1
    middle = samples[:, 12]
    assert 0.25 < float((middle == 0).double().mean()) < 0.37
    assert 0.25 < float((middle == 1).double().mean()) < 0.37


def test_gradients_flow_where_the_gate_is_neither_open_nor_shut() -> None:
    points = torch.linspace(-1, 1, 200, dtype=torch.float64)
    log_a = points.clone().requires_grad_()
    gates = sample_gate(log_a, torch.Generator().manual_seed(4))
    gates.sum().backward()
    assert log_a.grad is not None
    between = (gates > 0) & (gates < 1)
    assert 30 < int(between.sum()) < 170
    assert bool((log_a.grad[between] > 0).all())
    assert bool((log_a.grad[~between] == 0).all())
    moved = [sample_gate(points + step, torch.Generator().manual_seed(4)) for step in (1e-6, -1e-6)]
    torch.testing.assert_close(log_a.grad, (moved[0] - moved[1]) / 2e-6, rtol=1e-3, atol=1e-5)
    for function in (steady_gate, open_probability):
        point = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(function, (point,))


def test_noise_at_its_ends_gives_numbers() -> None:
    for value in (0.0, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "rand", lambda shape, value=value, **_: torch.full(shape, value))
            found = sample_gate(torch.zeros(3))
        assert torch.isfinite(found).all()
