"""Which word each token of a text is a piece of, by the characters that it covers."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]
"""The characters of a text from the first to before the second."""


def with_spaces(words: Sequence[str]) -> list[Span]:
    """The characters of each word in the text that has a space between the words.

    >>> with_spaces(["an", "owl"])
    [(0, 2), (3, 6)]
    """
    return locate_words(" ".join(words), words)


def locate_words(text: str, words: Sequence[str]) -> list[Span]:
    """The characters of each word in a text that consists of them in their order.

    >>> locate_words("can't  stop", ["ca", "n't", "stop"])
    [(0, 2), (2, 5), (7, 11)]
    """
    spans, end = [], 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    return spans


def words_of_tokens(
    texts: Sequence[Sequence[Span]], spans: Sequence[Span], sequences: Sequence[int | None]
) -> list[int | None]:
    """The word of each token; the words of a pair's second text are counted on. None for special tokens.

    `texts` are the characters of the words of each text, `spans` those of each token in its text, `sequences` which
    text that is. Given the words one by one, a byte-level tokenizer would glue them together. A token that covers
    several words belongs to the first of them.

    >>> words_of_tokens([[(0, 2), (3, 6)]], [(0, 0), (0, 2), (3, 4), (4, 6), (0, 0)], [None, 0, 0, 0, None])
    [None, 0, 1, 1, None]
    """
    letters = _words_of_characters(texts)
    return [
        None if text is None else next((letters[text][c] for c in range(*span) if c in letters[text]), None)
        for span, text in zip(spans, sequences, strict=True)
    ]


def lost_words(
    texts: Sequence[Sequence[Span]], spans: Sequence[Span], sequences: Sequence[int | None]
) -> tuple[set[int], set[int]]:
    """The words without a token (dropped by the tokenizer, or cut off), and those that share one with another word.

    >>> lost_words([[(0, 2), (3, 6)]], [(0, 6)], [0])
    (set(), {0, 1})
    >>> lost_words([[(0, 2), (3, 6)]], [(0, 2)], [0])
    ({1}, set())
    """
    letters = _words_of_characters(texts)
    merged: set[int] = set()
    seen: set[int] = set()
    for span, text in zip(spans, sequences, strict=True):
        if text is not None:
            covered = {letters[text][c] for c in range(*span) if c in letters[text]}
            seen |= covered
            if len(covered) > 1:
                merged |= covered
    return set(range(sum(map(len, texts)))) - seen, merged


def _words_of_characters(texts: Sequence[Sequence[Span]]) -> list[dict[int, int]]:
    """For each text, the number of the word of each character that belongs to one."""
    numbered, before = [], 0
    for words in texts:
        numbered.append({c: number for number, span in enumerate(words, start=before) for c in range(*span)})
        before += len(words)
    return numbered
