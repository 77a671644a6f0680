"""A bag of vectors: the mean of the pieces that are read, whatever their order."""

from __future__ import annotations

import torch

from headcount.training.bag_of_vectors import BagOfVectors
from tests.closeness import assert_same


def test_the_mean_of_what_is_read() -> None:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 0], [0, 1, 0, 0]])
    found = BagOfVectors(3)(vectors, mask)
    assert_same(found[0], vectors[0, :3].mean(0))
    assert_same(found[1], vectors[1, 1])
    order = torch.tensor([2, 0, 1, 3])
    assert_same(BagOfVectors(3)(vectors[:1, order], mask[:1]), found[:1])


def test_a_text_without_a_piece_is_zero() -> None:
    assert BagOfVectors(3)(torch.ones(1, 2, 3), torch.zeros(1, 2)).tolist() == [[0, 0, 0]]
