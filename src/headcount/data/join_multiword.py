"""A sentence with its multiword tokens as single words: as it is written, not as it is annotated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headcount.data.annotations import Annotated
from headcount.data.multiword import as_written


def join_multiword(sentence: Annotated) -> Annotated:
    """The sentence with each multiword token as one word.

    It takes the head, relation and part of speech of the one of its words that is nearest to the root (the first of
    several); what depended on any of its words depends on it.
    """
    if not sentence.multiword:
        return sentence
    groups: list[list[int]] = []
    starts = {token.first: token for token in sentence.multiword}
    word = 1
    while word <= len(sentence.words):
        last = starts[word].last if word in starts else word
        groups.append(list(range(word, last + 1)))
        word = last + 1
    number = {0: 0} | {word: at for at, group in enumerate(groups, start=1) for word in group}
    leaders = [_leader(sentence, group) - 1 for group in groups]
    return replace(
        sentence,
        words=tuple(as_written(sentence.words, sentence.multiword)),
        upos=tuple(sentence.upos[word] for word in leaders),
        deprels=tuple(sentence.deprels[word] for word in leaders),
        heads=tuple(number[sentence.heads[word]] for word in leaders),
        antecedents={number[word + 1] - 1: number[noun + 1] - 1 for word, noun in sentence.antecedents.items()},
        multiword=(),
    )


def _leader(sentence: Annotated, group: Sequence[int]) -> int:
    """The word nearest to the root: with any other, its own dependents could come to stand above it."""
    return min(group, key=lambda word: _depth(sentence, word))


def _depth(sentence: Annotated, word: int) -> int:
    depth = 0
    while word and depth <= len(sentence.heads):
        word, depth = sentence.heads[word - 1], depth + 1
    return depth
