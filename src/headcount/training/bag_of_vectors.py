"""A bag of vectors: the mean of the vectors of a text's pieces, in which their order is lost."""

from __future__ import annotations

from torch import Tensor, nn


class BagOfVectors(nn.Module):
    """Reads vectors [text, piece, size] as features [text, size]."""

    epochs, learning_rate = 20, 2e-3
    reads_special = False
    """Whether it is given special tokens, which are the same in all texts."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.features = size

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """`mask` [text, piece]: which pieces are read."""
        weights = mask.to(vectors.dtype)[..., None]
        return (vectors * weights).sum(1) / weights.sum(1).clamp(min=1)
