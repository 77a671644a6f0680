"""Words that are a single token of a tokenizer, and what is said of those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def single_tokens(tokenizer: Any, words: Sequence[str]) -> list[str]:
    """The words that are one token each after a space, and not an unknown one."""
    before = list(tokenizer("to", add_special_tokens=False, verbose=False)["input_ids"])
    encoded = tokenizer([f"to {word}" for word in words], add_special_tokens=False, verbose=False)["input_ids"]
    return [
        word
        for word, ids in zip(words, encoded, strict=True)
        if list(ids[:-1]) == before and len(ids) and ids[-1] != tokenizer.unk_token_id
    ]


def left_out_note(source: str, kept: int, of: int, what: str) -> list[str]:
    """How many of a source's words were left out, if any.

    >>> left_out_note("names", 50, 51, "first names")
    ['synthetic:names leaves out 1 of 51 first names: not a single token for this tokenizer']
    """
    if kept == of:
        return []
    return [f"synthetic:{source} leaves out {of - kept} of {of} {what}: not a single token for this tokenizer"]
