"""Windows: every word is new in one of them, pairs stay together where they can, and what is left out is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.coreference.documents import Document, make_document
from headcount.errors import DataProblem
from headcount.probing.coreference.windows import Window, cut_documents, plan_windows
from tests.measures.tiny import masked

TOKENIZER = masked()[1]
sizes = st.lists(st.integers(1, 12), min_size=1, max_size=30)


@given(sizes, st.integers(8, 60), st.integers(0, 10_000))
def test_every_word_is_new_once(sentences: list[int], room: int, seed: int) -> None:
    starts = [0, *np.cumsum(sentences[:-1]).tolist()]
    tokens = np.random.default_rng(seed).integers(1, 4, sum(sentences)).tolist()
    windows = plan_windows(tokens, starts, room)
    assert [window[1] for window in windows] == [0, *(window[2] for window in windows[:-1])]
    assert windows[-1][2] == sum(sentences)
    for start, new, stop in windows:
        assert start <= new < stop
        assert sum(tokens[start:stop]) <= room
        # As much before as fits: the sentence before, or its piece, would be too much.
        if start and start in starts:
            before = max(at for at in [*starts, 0] if at < start)
            assert sum(tokens[before:stop]) > room or sum(tokens[before:start]) > room * 0.5
    if max(sum(tokens[a:b]) for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)) <= room // 2:
        assert {start for start, _, _ in windows} <= set(starts), "whole sentences"


def test_a_text_that_fits_is_one_window() -> None:
    assert plan_windows([1] * 9, [0, 3], 9) == [(0, 0, 9)]


def test_a_long_sentence_is_cut() -> None:
    assert plan_windows([1] * 9, [0], 4) == [(0, 0, 4), (2, 4, 6), (4, 6, 8), (6, 8, 9)]


def windows_of(*documents: Document, longest: int = 64) -> list[Window]:
    return cut_documents(documents, TOKENIZER, longest)


def made(words: str, starts: list[int], *entities: list[tuple[int, int]]) -> Document:
    return make_document("d", words.split(), starts, entities)


WORDS = "dog saw red . she saw red . he saw red . she saw him . red saw red ."
"""Five sentences of four words."""


def test_each_mention_is_asked_in_one_window_where_it_has_the_most_before_it() -> None:
    document = made(WORDS, [0, 4, 8, 12, 16], [(0, 1), (4, 5), (12, 13)], [(8, 9), (14, 15)])
    windows = windows_of(document, longest=10)
    assert len(windows) > 2
    asked = [
        (window.words[mention.head], window.name)
        for window in windows
        for mention, flag in zip(window.mentions, window.asked, strict=True)
        if flag
    ]
    assert [word for word, _ in asked] == ["she", "she", "him"]
    last = next(window for window in windows if window.name == asked[-1][1])
    assert "he" in last.words, "with its antecedent, in the sentence before"
    for window in windows:
        assert all(window.words[mention.start : mention.end] for mention in window.mentions)
        assert {window.words[mention.head] for mention in window.mentions} <= {"dog", "she", "he", "him"}


def test_documents_without_antecedents_are_counted() -> None:
    one = made(WORDS, [0], [(0, 1)], [(4, 5)])
    two = made(WORDS, [0], [(0, 1), (4, 5)])
    windows = windows_of(one, two, one)
    assert [window.document for window in windows] == [1]
    assert windows[0].left_out == {"no mention has an antecedent": 2}
    with pytest.raises(DataProblem, match=r"no text has .* \(1 times no mention has an antecedent\)"):
        windows_of(one)


def test_a_written_text_is_cut_as_it_is_written() -> None:
    text = "dog saw red. she  saw red. it saw red."
    cut = made("dog saw red . she saw red . it saw red .", [0, 4, 8], [(0, 1), (4, 5)])
    document = replace(cut, text=text)
    assert [window.text for window in windows_of(document, longest=10)] == [
        "dog saw red. she  saw red.",
        "she  saw red. it saw red.",
    ]
    assert windows_of(document)[0].text == text


@given(st.integers(0, 10_000), st.integers(8, 40))
@settings(max_examples=40, deadline=None)
def test_every_mention_is_asked_once_or_counted(seed: int, longest: int) -> None:
    generator = np.random.default_rng(seed)
    words = generator.choice(["dog", "she", "saw", "red"], 60).tolist()
    starts = [0, *sorted({int(at) for at in generator.integers(1, 60, 8)})]
    spans = {(int(at), min(int(at + size), 60)) for at, size in generator.integers((0, 1), (60, 25), (20, 2))}
    entities = [sorted(spans)[number::3] for number in range(3)]
    document = make_document("d", words, starts, entities)
    windows = windows_of(document, longest=longest)
    first = {entity: min(one.head for one in document.mentions if one.entity == entity) for entity in range(3)}
    expected = sum(mention.head > first[mention.entity] for mention in document.mentions)
    assert sum(sum(window.asked) + window.broken for window in windows) == expected
