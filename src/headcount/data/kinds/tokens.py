"""Token ids of texts, truncated to what the model takes."""

from __future__ import annotations

from typing import Any

Encoding = dict[str, Any]
IGNORED = -100
"""The label of a token that is not scored, as in transformers."""


def tokenize(tokenizer: Any, texts: Any, pairs: Any, limit: int) -> tuple[list[Encoding], int]:
    """An encoding for each text or pair, and how many were truncated."""
    whole = tokenizer(texts, pairs, truncation=False, verbose=False)
    cut = sum(len(ids) > limit for ids in whole["input_ids"])
    encoded = tokenizer(texts, pairs, truncation=True, max_length=limit) if cut else whole
    return [{key: encoded[key][number] for key in encoded} for number in range(len(texts))], cut


def length(row: Encoding) -> int:
    """The number of tokens of an encoding; of several texts, as in multiple choice, that of the longest."""
    ids = row["input_ids"]
    return max(map(len, ids)) if ids and isinstance(ids[0], list) else len(ids)
