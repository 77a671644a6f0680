"""Which word each token of a text is a piece of, by the characters that it covers."""

from __future__ import annotations

from collections.abc import Sequence


def words_of_tokens(
    texts: Sequence[Sequence[str]], spans: Sequence[tuple[int, int]], sequences: Sequence[int | None]
) -> list[int | None]:
    """The word of each token; the words of a pair's second text are counted on. None for special tokens.

    `texts` are the words of each text, which the tokenizer read with a space between; `spans` the characters of each
    token in its text, `sequences` which text that is. Given the words one by one, a byte-level tokenizer would glue
    them together. A token that covers several words belongs to the first of them.

    >>> words_of_tokens([["an", "owl"]], [(0, 0), (0, 2), (3, 4), (4, 6), (0, 0)], [None, 0, 0, 0, None])
    [None, 0, 1, 1, None]
    """
    letters = _words_of_characters(texts)
    return [
        None if text is None else next((letters[text][c] for c in range(*span) if letters[text][c] is not None), None)
        for span, text in zip(spans, sequences, strict=True)
    ]


def lost_words(
    texts: Sequence[Sequence[str]], spans: Sequence[tuple[int, int]], sequences: Sequence[int | None]
) -> tuple[set[int], set[int]]:
    """The words without a token (dropped by the tokenizer, or cut off), and those that share one with another word.

    >>> lost_words([["an", "owl"]], [(0, 6)], [0])
    (set(), {0, 1})
    >>> lost_words([["an", "owl"]], [(0, 2)], [0])
    ({1}, set())
    """
    letters = _words_of_characters(texts)
    merged: set[int] = set()
    seen: set[int] = set()
    for span, text in zip(spans, sequences, strict=True):
        if text is not None:
            covered = {word for word in letters[text][slice(*span)] if word is not None}
            seen |= covered
            if len(covered) > 1:
                merged |= covered
    return set(range(sum(map(len, texts)))) - seen, merged


def _words_of_characters(texts: Sequence[Sequence[str]]) -> list[list[int | None]]:
    """For each character of each text, its words joined by spaces, the number of its word."""
    numbered: list[list[int | None]] = []
    before = 0
    for words in texts:
        characters: list[int | None] = []
        for number, word in enumerate(words, start=before):
            characters += [*[number if character != " " else None for character in word], None]
        numbered.append(characters)
        before += len(words)
    return numbered
