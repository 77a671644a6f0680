"""A small model on fixed vectors of pieces: the baselines that a fine-tuned model must beat."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol

import torch
from torch import Tensor, nn
from transformers.utils import ModelOutput

from headcount.training.bag_of_vectors import BagOfVectors
from headcount.training.bilstm import BiLSTM

READERS: dict[str, type[BagOfVectors] | type[BiLSTM]] = {"bag-of-vectors": BagOfVectors, "bilstm": BiLSTM}
"""By name: how the vectors of a text become its features."""
HIDDEN, DROPOUT = 64, 0.1


class Reader(Protocol):
    """Vectors [text, piece, size] and which of them are read, as features of each text."""

    features: int
    reads_special: bool

    def __call__(self, vectors: Tensor, mask: Tensor) -> Tensor: ...


@dataclass
class Scores(ModelOutput):  # type: ignore[misc]
    """The result of a pass, as transformers' models give it."""

    logits: Tensor | None = None


class VectorModel(nn.Module):
    """Scores the texts of a batch: [example, outputs], or, for multiple choice, [example, choice].

    `vectors` [piece, size] are not trained. `special`: the ids of special tokens. One hidden layer: with a linear one
    the context would add the same to all choices.
    """

    vectors: Tensor
    special: Tensor

    def __init__(self, reader: str, vectors: Tensor, special: Tensor, outputs: int, choices: bool) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors)
        self.register_buffer("special", special)
        self.reader: Reader = READERS[reader](vectors.shape[1])
        self.head = nn.Sequential(
            nn.Dropout(DROPOUT), nn.Linear(self.reader.features, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs)
        )
        self.choices = choices
        self.config = SimpleNamespace(num_labels=outputs)

    @property
    def device(self) -> torch.device:
        return self.vectors.device

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Scores:
        ids = input_ids.flatten(0, -2)
        mask = torch.ones_like(ids) if attention_mask is None else attention_mask.flatten(0, -2)
        if not self.reader.reads_special:
            mask = mask * ~torch.isin(ids, self.special)
        logits = self.head(self.reader(self.vectors[ids], mask))
        return Scores(logits.reshape(input_ids.shape[:-1]) if self.choices else logits)


def centred(vectors: Tensor) -> Tensor:
    """Vectors with mean 0 and standard deviation 1 over all pieces: models differ in the scale of theirs."""
    shifted = vectors - vectors.mean(0)
    return shifted / shifted.std().clamp(min=1e-12)
