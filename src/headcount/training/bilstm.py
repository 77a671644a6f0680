"""A BiLSTM over the vectors of a text's pieces: it sees their order, but has learned nothing before this task."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

HIDDEN = 64
"""Units of each direction."""


class BiLSTM(nn.Module):
    """Reads vectors [text, piece, size] as features [text, 2 * HIDDEN]: the maximum of each unit over the pieces."""

    epochs, learning_rate = 10, 2e-3
    reads_special = True
    """Whether it is given special tokens: here they show where a text of a pair ends."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(size, HIDDEN, batch_first=True, bidirectional=True)
        self.features = 2 * HIDDEN

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """`mask` [text, piece]: which pieces are read; those of a text come before its padding."""
        lengths = mask.sum(1).clamp(min=1).cpu()
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=float("-inf"))
        pooled: Tensor = states.amax(1)
        return pooled
