"""Where the second text of a pair begins, as the tokenizer's encoding says, for models with and without segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def text_numbers(sequence_ids: Sequence[int | None]) -> list[int]:
    """The text, 0 or 1, that each token of an encoding belongs to; a special token belongs to the text before it.

    These are the segments of models that have some.

    >>> text_numbers([None, 0, 0, None, None, 1, None])  # <s> A A </s> </s> B </s>
    [0, 0, 0, 0, 0, 1, 1]
    """
    numbers, current = [], 0
    for text in sequence_ids:
        current = current if text is None else text
        numbers.append(current)
    return numbers


def separates_texts(tokenizer: Any) -> bool:
    """Whether the tokenizer puts a special token between the texts of a pair."""
    return bool(tokenizer.num_special_tokens_to_add(True) > tokenizer.num_special_tokens_to_add(False))
