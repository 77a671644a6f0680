"""Token ids of texts, cut to what the model takes."""

from __future__ import annotations

from typing import Any

Encoding = dict[str, Any]
IGNORED = -100
"""The label of a token that is not scored, as in transformers."""


def tokenize(tokenizer: Any, texts: Any, pairs: Any, limit: int, **options: Any) -> tuple[list[Encoding], int]:
    """An encoding for each text or pair, and how many had to be cut."""
    whole = tokenizer(texts, pairs, truncation=False, verbose=False, **options)
    cut = sum(len(ids) > limit for ids in whole["input_ids"])
    made = tokenizer(texts, pairs, truncation=True, max_length=limit, **options) if cut else whole
    return [{key: made[key][number] for key in made} for number in range(len(texts))], cut


def length(row: Encoding) -> int:
    """The tokens of an encoding; of several texts, as in a multiple choice, those of the longest."""
    ids = row["input_ids"]
    return max(map(len, ids)) if ids and isinstance(ids[0], list) else len(ids)
