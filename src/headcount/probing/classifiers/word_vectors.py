"""A vector for each word: the mean of the model's input embeddings over its pieces, or that of a vectors file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.provenance import fingerprint
from headcount.data.vectors_file import read_vectors
from headcount.errors import DataProblem, listed
from headcount.models.dispatched import input_device, read_weight
from headcount.probing.words.sentences import Sentences


@dataclass(frozen=True)
class WordVectors:
    """The vectors of the words of some sentences, on the device that trains."""

    rows: list[Tensor]
    """[N, D] for each sentence."""
    source: str
    known: float
    """The share of the words that have one."""
    identity: str
    """Equal for equal vectors of a model, on any device."""


def own_vectors(model: PreTrainedModel, sentences: Sentences) -> WordVectors:
    """The model's input embeddings; zero for words without pieces of their own."""
    table = read_weight(model.get_input_embeddings()).to(input_device(model))
    vectors = []
    for row, words, known in zip(sentences.inputs.rows, sentences.words, sentences.known, strict=True):
        pieces = [(token, word) for token, word in enumerate(words) if word is not None and known[word]]
        total = torch.zeros(len(known), table.shape[1], device=table.device)
        numbers = torch.tensor([word for _, word in pieces], device=table.device, dtype=torch.long)
        ids = torch.tensor([row["input_ids"][token] for token, _ in pieces], device=table.device, dtype=torch.long)
        total.index_add_(0, numbers, table[ids].float())
        count = torch.bincount(numbers, minlength=len(known)).clamp(min=1)
        vectors.append(total / count[:, None])
    source = "the model's input embeddings"
    return WordVectors(_scaled(vectors), source, 1.0, source)


def file_vectors(path: str | Path, sentences: Sentences, device: torch.device) -> WordVectors:
    """Those of a file, of words as they are or in lower case; zero for words that it does not have.

    An error where it has none of the words.
    """
    words = [word for sentence in sentences.annotated for word in sentence.words]
    vectors = read_vectors(path, {*words, *map(str.lower, words)})
    if not vectors:
        raise DataProblem(f"{path} has no vector for any of the words ({listed(dict.fromkeys(words), most=4)})")
    nothing = np.zeros_like(next(iter(vectors.values())))
    looked_up = [
        np.stack([vectors.get(word, vectors.get(word.lower(), nothing)) for word in sentence.words])
        for sentence in sentences.annotated
    ]
    share = np.mean([word in vectors or word.lower() in vectors for word in words])
    rows = _scaled([torch.from_numpy(each).to(device) for each in looked_up])
    return WordVectors(rows, Path(path).name, float(share), fingerprint([each.tobytes() for each in looked_up]))


def _scaled(vectors: list[Tensor]) -> list[Tensor]:
    """All multiplied by one factor, so that the mean square of their numbers is 1: one learning rate fits any model."""
    square = torch.cat(vectors).square().mean()
    return [rows / square.sqrt().clamp(min=1e-12) for rows in vectors]
