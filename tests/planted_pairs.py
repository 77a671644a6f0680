"""Models whose pairs of heads are known by construction: two that back each other up, and two that need each other.

A text is a few words; `good` and `bad` decide the label. In one model L0H0 and L1H1 each carry it, so that one of them
does what both do, and nothing is known without both. In the other, L0H0 hands it to L1H1: each of them is needed.
"""

from __future__ import annotations

from typing import Any

import torch

from tests import planted
from tests.planted import NOISE, SIGNAL, VERDICT, WORDS

FIRST, SECOND = "L0H0", "L1H1"


@torch.no_grad()
def _plain(layers: int = 2) -> Any:
    """The planted classifier with heads that do nothing."""
    model = planted.classifier(layers)
    model.bert.encoder.layer[0].attention.output.dense.weight.zero_()
    model.bert.encoder.layer[0].attention.self.value.weight.zero_()
    for word in ("up", "down"):
        model.bert.embeddings.word_embeddings.weight[WORDS.index(word)].zero_()
    return model


@torch.no_grad()
def _carry(model: Any, layer: int, head: int, weight: float) -> None:
    """A head that adds `weight` times the mean of the signal to the verdict."""
    attention = model.bert.encoder.layer[layer].attention
    attention.self.value.weight[4 * head, SIGNAL] = 1
    attention.output.dense.weight[VERDICT, 4 * head] = weight


def backups() -> Any:
    """L0H0 and L1H1 each carry the label; all other heads do nothing."""
    model = _plain()
    _carry(model, 0, 0, 1.0)
    _carry(model, 1, 1, 1.0)
    return model


@torch.no_grad()
def chain() -> Any:
    """L0H0 passes the signal on and L1H1 makes it the verdict: neither does anything without the other.

    Everything is written twice, with both signs, so that a layer norm, which subtracts the mean, leaves all else at 0.
    """
    model = _plain()
    words = model.bert.embeddings.word_embeddings.weight
    words[WORDS.index("good"), NOISE], words[WORDS.index("bad"), NOISE] = -1, 1
    passed, opposite, negative = 2, 3, 5
    lower, upper = (model.bert.encoder.layer[layer].attention for layer in (0, 1))
    lower.self.value.weight[0, SIGNAL] = 1
    lower.output.dense.weight[passed, 0], lower.output.dense.weight[opposite, 0] = 1, -1
    upper.self.value.weight[4, passed] = 1
    upper.output.dense.weight[VERDICT, 4], upper.output.dense.weight[negative, 4] = 1, -1
    return model
