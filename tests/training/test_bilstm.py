"""A BiLSTM: padding changes nothing, the order of the pieces does."""

from __future__ import annotations

import torch

from headcount.training.bilstm import BiLSTM
from tests.closeness import assert_same


def test_padding_changes_nothing_and_order_does() -> None:
    torch.manual_seed(0)
    model = BiLSTM(3).double()
    vectors = torch.randn(2, 5, 3, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with torch.no_grad():
        together = model(vectors, mask)
        alone = model(vectors[:1, :3], mask[:1, :3])
        turned = model(vectors[:1, [2, 1, 0]], mask[:1, :3])
        naive = model.lstm(vectors[:1, :3])[0].amax(1)
    assert together.shape == (2, model.features)
    assert_same(together[:1], alone)
    assert_same(alone, naive)
    assert not torch.allclose(alone, turned)
