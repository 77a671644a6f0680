"""Documents as the model can take them: a long one in windows that overlap, each mention asked for in one of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from headcount.data.coreference.documents import Document, Mention
from headcount.data.token_spans import encode_with_spans
from headcount.data.word_pieces import locate_words, words_of_tokens
from headcount.errors import DataProblem

NEW = 0.5
"""The share of a window, but a document's first, whose mentions are asked for; the rest is what comes before them."""


@dataclass(frozen=True)
class Window:
    """Some words of a document, with the mentions among them, whose words are counted from the window's first."""

    name: str
    document: int
    """The number of the document in the data."""
    words: tuple[str, ...]
    mentions: tuple[Mention, ...]
    """Those that lie in the window, by head word."""
    asked: tuple[bool, ...]
    """Of each mention whether it is asked for here: it has an antecedent in the document, and no earlier window."""
    tags: tuple[str, ...] | None
    text: str | None
    left_out: Mapping[str, int]
    """Of the whole data: how many documents have nothing to ask, and why."""
    broken: int = 0
    """Mentions that no window holds whole: those of a sentence that had to be cut."""


def cut_documents(documents: Sequence[Document], tokenizer: Any, longest: int) -> list[Window]:
    """The documents as windows of at most `longest` tokens; those without any antecedent are left out and counted.

    A document that fits is one window. Of a longer one, the first window is as long as possible; each of the others
    goes on for half a window, with as many sentences before it as fit, so that a mention has at least half a window of
    text before it. A mention is asked for where it comes first, which is where it has the most text before it among the
    windows. Only a sentence that is longer than half a window is cut.
    """
    left_out: Counter[str] = Counter()
    windows: list[Window] = []
    for number, document in enumerate(documents):
        asked = _having_antecedents(document)
        if not any(asked):
            left_out[document.without_antecedent] += 1
            continue
        counted = _tokens_of_words(document, tokenizer)
        if counted is None:
            left_out["the tokens do not spell the text"] += 1
            continue
        tokens, special = counted
        for start, new, stop in plan_windows(tokens, document.starts, longest - special):
            windows.append(_window(document, number, asked, left_out, start, new, stop))
    if not windows:
        reasons = ", ".join(f"{count} times {reason}" for reason, count in left_out.items())
        raise DataProblem(
            f"no text has a mention with an antecedent before it ({reasons}); expected some; check the data"
        )
    return windows


def plan_windows(tokens: Sequence[int], starts: Sequence[int], room: int) -> list[tuple[int, int, int]]:
    """Windows of words: the first, the first that no earlier window has, and the one after the last.

    `tokens` are those of each word, `starts` the first words of the sentences, `room` the tokens of a window.

    >>> plan_windows([1] * 9, [0, 2, 5, 7], 6)
    [(0, 0, 5), (2, 5, 7), (5, 7, 9)]
    """
    before = [0, *accumulate(tokens)]
    if before[-1] <= room:
        return [(0, 0, len(tokens))]
    borders = _borders(before, [*starts, len(tokens)], max(int(room * NEW), 1))
    windows, new = [], 0
    while new < len(borders) - 1:
        most = room if not new else int(room * NEW)
        stop = new + 1
        while stop + 1 < len(borders) and before[borders[stop + 1]] - before[borders[new]] <= most:
            stop += 1
        start = new
        while start and before[borders[stop]] - before[borders[start - 1]] <= room:
            start -= 1
        windows.append((borders[start], borders[new], borders[stop]))
        new = stop
    return windows


def _borders(before: Sequence[int], ends: Sequence[int], most: int) -> list[int]:
    """Where a window may begin or end: between sentences, and within one of more than `most` tokens."""
    borders = [0]
    for end in ends:
        while before[end] - before[borders[-1]] > most and end - borders[-1] > 1:
            cut = borders[-1] + 1
            while before[cut + 1] - before[borders[-1]] <= most:
                cut += 1
            borders.append(cut)
        if end > borders[-1]:
            borders.append(end)
    return borders


def _having_antecedents(document: Document) -> list[bool]:
    """Of each mention whether it is asked for and names what a mention with an earlier head word names."""
    first: dict[int, int] = {}
    for mention in document.mentions:
        first.setdefault(mention.entity, mention.head)
    return [mention.asked and first[mention.entity] < mention.head for mention in document.mentions]


def _tokens_of_words(document: Document, tokenizer: Any) -> tuple[list[int], int] | None:
    """How many tokens each word has, and how many are special; what belongs to no word counts for the one before.

    None where that is not known.
    """
    text = document.text or " ".join(document.words)
    [traced], _ = encode_with_spans(tokenizer, [text], sys.maxsize)
    if traced is None:
        return None
    sequences = traced.sequences
    numbers = words_of_tokens([locate_words(text, document.words)], traced.spans, sequences)
    tokens, word = [0] * len(document.words), 0
    for number, sequence in zip(numbers, sequences, strict=True):
        if sequence is not None:
            word = word if number is None else number
            tokens[word] += 1
    return tokens, sum(sequence is None for sequence in sequences)


def _window(
    document: Document, number: int, asked: Sequence[bool], left_out: Mapping[str, int], start: int, new: int, stop: int
) -> Window:
    pairs = list(zip(document.mentions, asked, strict=True))
    inside = [(mention, flag) for mention, flag in pairs if start <= mention.start and mention.end <= stop]
    moved = [
        replace(mention, start=mention.start - start, end=mention.end - start, head=mention.head - start)
        for mention, _ in inside
    ]
    whole = (start, stop) == (0, len(document.words))
    text = document.text
    if text is not None and not whole:
        spans = locate_words(text, document.words)
        text = text[spans[start][0] : spans[stop - 1][1]]
    return Window(
        document.name if whole else f"{document.name}, words {start + 1} to {stop}",
        number,
        document.words[start:stop],
        tuple(moved),
        tuple(flag and mention.end > new for mention, flag in inside),
        None if document.tags is None else document.tags[start:stop],
        text,
        left_out,
        sum(flag and mention.start < start and new < mention.end <= stop for mention, flag in pairs),
    )
