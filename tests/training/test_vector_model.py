"""Small models on fixed vectors: what they read, and the shape of their scores."""

from __future__ import annotations

import pytest
import torch

from headcount.training.vector_model import READERS, VectorModel, centred
from tests.closeness import assert_same

SPECIAL = torch.tensor([0, 1])


def made(reader: str, outputs: int = 3, choices: bool = False) -> VectorModel:
    torch.manual_seed(0)
    return VectorModel(reader, torch.randn(9, 4), SPECIAL, outputs, choices).double().eval()


@pytest.mark.parametrize("reader", READERS)
def test_shapes(reader: str) -> None:
    ids = torch.tensor([[1, 5, 6], [1, 7, 0]])
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    assert made(reader)(ids, mask).logits.shape == (2, 3)
    scores = made(reader, 1, choices=True)(ids[:, None].expand(2, 4, 3), mask[:, None].expand(2, 4, 3)).logits
    assert scores.shape == (2, 4)
    assert_same(scores, scores[:, :1].expand(2, 4))


@pytest.mark.parametrize("reader", READERS)
def test_the_vectors_are_not_trained(reader: str) -> None:
    model = made(reader)
    assert not any(parameter.shape == model.vectors.shape for parameter in model.parameters())
    model(torch.tensor([[5, 6]])).logits.sum().backward()
    assert model.vectors.grad is None


def test_a_bag_leaves_special_tokens_out() -> None:
    bag, sequence = made("bag-of-vectors"), made("bilstm")
    bare, framed = torch.tensor([[5, 6]]), torch.tensor([[1, 5, 6, 1]])
    assert_same(bag(bare).logits, bag(framed).logits)
    assert not torch.allclose(sequence(bare).logits, sequence(framed).logits)


def test_centred() -> None:
    vectors = centred(torch.randn(50, 4, dtype=torch.float64) * 0.01 + 3)
    assert_same(vectors.mean(0), torch.zeros(4, dtype=torch.float64), largest=1)
    assert vectors.std() == pytest.approx(1)
    assert centred(torch.ones(3, 2)).abs().sum() == 0
