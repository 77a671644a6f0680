"""What classifiers learn from: sentences whose words choose a syntactic head among the others and ROOT.

Candidate 0 is ROOT, candidate i the i-th word: a sentence of N words has M = N + 1 candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

NO_CASE = -1
"""The head of a candidate that is not predicted: ROOT, punctuation, and words that are lost or whose head is."""
SENTENCES = 16
"""Sentences of a batch."""
POOL = 20
"""Batches whose sentences are sorted by length, so that little is padded."""


@dataclass(frozen=True)
class Case:
    """One sentence, on the device that trains."""

    heads: Tensor
    """[M]: the candidate that is the head of each, or `NO_CASE`."""
    candidates: Tensor
    """[M]: whether it can be chosen; lost words cannot."""
    vectors: Tensor
    """[M, D]: a vector for each word; ROOT's is zero, since a classifier learns its own."""
    attention: Tensor | None
    """[M, M, K]: from candidate to candidate, for each head, in float16."""


@dataclass(frozen=True)
class Batch:
    """Some sentences, padded to the M of the longest: B of them."""

    heads: Tensor
    """[B, M]"""
    candidates: Tensor
    """[B, M]"""
    vectors: Tensor
    """[B, M, D]"""
    attention: Tensor | None
    """[B, M, M, K] in float32."""

    @property
    def allowed(self) -> Tensor:
        """[B, M, M]: which candidates each may choose: all known ones but itself."""
        size = self.heads.shape[1]
        others = ~torch.eye(size, dtype=torch.bool, device=self.heads.device)
        return self.candidates[:, None, :] & others


def pad_cases(cases: Sequence[Case]) -> Batch:
    """Some sentences side by side."""
    size = max(len(case.heads) for case in cases)
    device, width = cases[0].heads.device, cases[0].vectors.shape[-1]
    heads = torch.full((len(cases), size), NO_CASE, device=device)
    candidates = torch.zeros(len(cases), size, dtype=torch.bool, device=device)
    vectors = torch.zeros(len(cases), size, width, device=device)
    first = cases[0].attention
    attention = None if first is None else torch.zeros(len(cases), size, size, first.shape[-1], device=device)
    for row, case in enumerate(cases):
        own = len(case.heads)
        heads[row, :own], candidates[row, :own], vectors[row, :own] = case.heads, case.candidates, case.vectors
        if attention is not None and case.attention is not None:
            attention[row, :own, :own] = case.attention
    return Batch(heads, candidates, vectors, attention)


def in_order(cases: Sequence[Case]) -> Iterator[tuple[list[int], Batch]]:
    """All sentences in batches of like length, each with the numbers of its sentences."""
    order = sorted(range(len(cases)), key=lambda number: len(cases[number].heads))
    for start in range(0, len(order), SENTENCES):
        numbers = order[start : start + SENTENCES]
        yield numbers, pad_cases([cases[number] for number in numbers])


def shuffled(cases: Sequence[Case], generator: np.random.Generator) -> Iterator[Batch]:
    """All sentences once, in batches of like length, at random."""
    order = generator.permutation(len(cases))
    batches = []
    for start in range(0, len(order), SENTENCES * POOL):
        pool = sorted(order[start : start + SENTENCES * POOL], key=lambda number: len(cases[number].heads))
        batches += [pool[at : at + SENTENCES] for at in range(0, len(pool), SENTENCES)]
    for number in generator.permutation(len(batches)):
        yield pad_cases([cases[row] for row in batches[number]])
