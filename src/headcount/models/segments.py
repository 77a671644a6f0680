"""Whether a model is told which text of a pair a token belongs to."""

from __future__ import annotations

from typing import Any


def has_segments(model: Any) -> bool:
    """Whether it has embeddings for two token types: BERT does, RoBERTa and DistilBERT do not."""
    return (getattr(model.config, "type_vocab_size", 0) or 0) > 1
