"""Pairs for the planted classifier: one whose logits are linear in what heads give, and one that is saturated."""

from __future__ import annotations

from typing import Any

import torch

from tests import planted


def linear_pair(count: int = 24) -> tuple[Any, Any]:
    """The planted classifier without its tanh and norms: the logits are linear in what the heads give."""
    model = planted.classifier().double()
    layer = model.bert.encoder.layer
    for norm in [
        model.bert.embeddings.LayerNorm,
        *(part.LayerNorm for one in layer for part in (one.attention.output, one.output)),
    ]:
        norm.forward = lambda states: states
    model.bert.pooler.activation = torch.nn.Identity()
    table = planted.texts(count).assign(wrong=lambda rows: 1 - rows["label"])
    flipped = {"good": "bad", "bad": "good", "up": "down", "down": "up"}
    table["counterpart"] = [" ".join(flipped.get(word, word) for word in text.split()) for text in table["sentence"]]
    return model, table


def saturated_pair() -> tuple[Any, Any]:
    """The same with the pooler's tanh far in its flat part on either input: its slope is 0, its values are apart."""
    model, table = linear_pair()
    model.bert.pooler.activation = torch.nn.Tanh()
    with torch.no_grad():
        model.bert.pooler.dense.weight.mul_(1e4)
    return model, table
