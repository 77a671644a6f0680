"""Modes come back as they were, module by module."""

from __future__ import annotations

import torch

import headcount as hc
from headcount.trace.modes import evaluating
from tests.contracts.zoo import BY_NAME, inputs, tiny


def test_every_module_gets_its_mode_back() -> None:
    model = tiny("bert").train()
    model.pooler.eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert model.training
    assert not model.pooler.training


def test_means_of_a_model_in_training_have_no_dropout() -> None:
    batch = inputs(BY_NAME["bert"], "right")
    trained, plain = hc.mean_outputs(tiny("bert").train(), batch), hc.mean_outputs(tiny("bert"), batch)
    assert torch.equal(trained["encoder"], plain["encoder"])
