"""Training a classifier on some sentences, stopped by others, and what it gets right on those it has never seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from headcount.probing.classifiers.cases import NO_CASE, Batch, Case, in_order, shuffled
from headcount.probing.classifiers.probes import Probe

EPOCHS = 15
"""The most passes over the training sentences."""
PATIENCE = 2
"""Epochs without a better development score after which the training ends."""


@dataclass(frozen=True)
class Split:
    """Which sentences train, which stop the training, and which evaluate: their numbers."""

    train: np.ndarray
    development: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Trained:
    """A trained classifier: of each test sentence, how many words it gets right."""

    right: np.ndarray
    development: float
    epochs: int


def split_sentences(count: int, seed: int) -> Split:
    """Eight tenths train, one tenth stops, one tenth evaluates; each has at least one sentence."""
    order = np.random.default_rng(seed).permutation(count)
    part = max(1, count // 10)
    return Split(np.sort(order[2 * part :]), np.sort(order[part : 2 * part]), np.sort(order[:part]))


def train(
    probe: Probe,
    training: Sequence[Case],
    development: Sequence[Case],
    test: Sequence[Case],
    learning_rate: float,
    generator: np.random.Generator,
    after_epoch: Callable[[], None] = lambda: None,
) -> Trained:
    """The probe, trained with Adam until the development score stops rising; it keeps its best weights."""
    optimizer = torch.optim.Adam(probe.parameters(), lr=learning_rate)
    best, best_epoch, weights = -1.0, 0, deepcopy(probe.state_dict())
    epoch = 0
    for epoch in range(1, EPOCHS + 1):
        for batch in shuffled(training, generator):
            optimizer.zero_grad()
            loss_of(probe, batch).backward()
            optimizer.step()
        score = share_right(count_right(probe, development), development)
        if score > best:
            best, best_epoch, weights = score, epoch, deepcopy(probe.state_dict())
        after_epoch()
        if epoch - best_epoch >= PATIENCE:
            break
    probe.load_state_dict(weights)
    return Trained(count_right(probe, test), best, epoch)


def loss_of(probe: Probe, batch: Batch) -> Tensor:
    """The mean of -log p(true head) over the words of a batch; 0 where it has no cases."""
    chosen = batch.heads != NO_CASE
    scores = probe(batch).masked_fill(~batch.allowed, -torch.inf)
    return nn.functional.cross_entropy(scores[chosen], batch.heads[chosen], reduction="sum") / chosen.sum().clamp(min=1)


def count_right(probe: Probe, cases: Sequence[Case]) -> np.ndarray:
    """Of each sentence, the number of words whose most probable candidate is their head."""
    right = np.zeros(len(cases))
    with torch.no_grad():
        for numbers, batch in in_order(cases):
            chosen = probe(batch).masked_fill(~batch.allowed, -torch.inf).argmax(-1)
            right[numbers] = (chosen == batch.heads).sum(-1).cpu().numpy()
    return right


def count_words(cases: Sequence[Case]) -> np.ndarray:
    """Of each sentence, the number of words whose head is predicted."""
    return np.array([int((case.heads != NO_CASE).sum()) for case in cases], dtype=float)


def share_right(right: np.ndarray, cases: Sequence[Case]) -> float:
    return float(right.sum() / max(count_words(cases).sum(), 1))
