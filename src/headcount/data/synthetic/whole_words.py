"""Tokens that are whole words: which of a tokenizer's vocabulary, and which text gives each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

POOL = 2000
"""Words that texts are drawn from, if the vocabulary has so many."""
CHUNK = 4096
BEFORE = "the"
"""Stands before a word when it is tried: most tokenizers encode the first word of a text in their own way."""


def draw_whole_words(tokenizer: Any, most: int, seed: int) -> dict[int, str]:
    """Up to `most` random tokens that are words, by their ids, the same for the same seed.

    A token is taken if its word, after a space, is encoded as this token and no other. Special tokens, pieces of words
    and words that the tokenizer spells differently are left out.
    """
    special = set(tokenizer.all_special_ids)
    vocabulary = sorted(set(tokenizer.get_vocab().values()) - special)
    order = np.random.default_rng([seed, len(vocabulary)]).permutation(np.array(vocabulary, dtype=int))
    words: dict[int, str] = {}
    for start in range(0, len(order), CHUNK):
        for token, text in _try(tokenizer, order[start : start + CHUNK].tolist()):
            words[token] = text
            if len(words) == most:
                return words
    return words


def _is_word(text: str) -> bool:
    """Whether it is made of letters, perhaps with digits, but is no number."""
    return text.isalnum() and not text.isnumeric()


def _try(tokenizer: Any, tokens: list[int]) -> list[tuple[int, str]]:
    texts = [tokenizer.decode([token]).strip() for token in tokens]
    tried = [(token, text) for token, text in zip(tokens, texts, strict=True) if _is_word(text)]
    if not tried:
        return []
    before = list(tokenizer(BEFORE, add_special_tokens=False, verbose=False)["input_ids"])
    encoded = tokenizer([f"{BEFORE} {text}" for _, text in tried], add_special_tokens=False, verbose=False)["input_ids"]
    return [word for word, ids in zip(tried, encoded, strict=True) if list(ids) == [*before, word[0]]]
