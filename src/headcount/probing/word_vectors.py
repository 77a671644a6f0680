"""A vector for each word: the mean of the model's input embeddings over its pieces, or that of a vectors file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.data.vectors_file import read_vectors
from headcount.errors import DataProblem, listed
from headcount.probing.sentences import Sentences


def own_vectors(model: PreTrainedModel, sentences: Sentences) -> list[Tensor]:
    """For each sentence [N, D]; zero for words without pieces of their own."""
    table = model.get_input_embeddings().weight.detach()
    vectors = []
    for row, words, known in zip(sentences.inputs.rows, sentences.words, sentences.known, strict=True):
        pieces = [(token, word) for token, word in enumerate(words) if word is not None and known[word]]
        total = torch.zeros(len(known), table.shape[1], device=table.device)
        numbers = torch.tensor([word for _, word in pieces], device=table.device, dtype=torch.long)
        ids = torch.tensor([row["input_ids"][token] for token, _ in pieces], device=table.device, dtype=torch.long)
        total.index_add_(0, numbers, table[ids].float())
        count = torch.bincount(numbers, minlength=len(known)).clamp(min=1)
        vectors.append(total / count[:, None])
    return _scaled(vectors)


def file_vectors(path: str | Path, sentences: Sentences, device: torch.device) -> tuple[list[Tensor], float]:
    """For each sentence [N, D], and the share of the words that the file has, in their case or in lower case.

    The others have the vector zero; an error where it has none of the words.
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
    return _scaled([torch.from_numpy(rows).to(device) for rows in looked_up]), float(share)


def _scaled(vectors: list[Tensor]) -> list[Tensor]:
    """All multiplied by one factor, so that the mean square of their numbers is 1: one learning rate fits any model."""
    square = torch.cat(vectors).square().mean()
    return [rows / square.sqrt().clamp(min=1e-12) for rows in vectors]
