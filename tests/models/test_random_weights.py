"""A model with random weights: the same shape, other numbers, drawn by the seed; the model itself is left alone."""

from __future__ import annotations

import torch

import headcount as hc
from headcount.models.random_weights import SPREAD, with_random_weights
from tests import planted


def test_other_weights_of_the_same_shape() -> None:
    model = planted.classifier()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    other, again = with_random_weights(model, 1), with_random_weights(model, 1)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    for (name, tensor), same in zip(other.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(tensor, same)
        assert tensor.shape == before[name].shape
        if tensor.ndim > 1 and tensor.numel() > 200:
            assert abs(float(tensor.detach().std()) / SPREAD - 1) < 0.3, name
    assert not torch.equal(next(with_random_weights(model, 2).parameters()), next(other.parameters()))


def test_scales_are_1_and_biases_0() -> None:
    other = with_random_weights(planted.classifier())
    norm = other.bert.encoder.layer[0].output.LayerNorm
    assert torch.equal(norm.weight, torch.ones_like(norm.weight))
    assert not norm.bias.any()


def test_a_pruned_model_stays_pruned() -> None:
    model = planted.classifier()
    hc.prune(model, ["L0H1"])
    assert hc.read_anatomy(with_random_weights(model)).layout == hc.read_anatomy(model).layout
