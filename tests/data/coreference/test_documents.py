"""Documents: mentions in the order of their head words, each with its head and kind; what is no mention is refused."""

from __future__ import annotations

import pytest

from headcount.data.coreference.documents import check_entities, check_words, make_document
from headcount.errors import DataProblem

WORDS = ["Emma", "saw", "the", "man", "with", "the", "hat", ".", "He", "liked", "Emma", "."]


def test_mentions_have_heads_and_kinds() -> None:
    document = make_document("d", WORDS, [0, 8], [[(10, 11), (0, 1)], [(8, 9), (2, 7)], [(5, 7)]])
    told = [(document.words[mention.head], mention.kind, mention.entity) for mention in document.mentions]
    assert told == [
        ("Emma", "proper", 0),
        ("man", "nominal", 1),
        ("hat", "nominal", 2),
        ("He", "pronoun", 1),
        ("Emma", "proper", 0),
    ]
    assert document.mentions[1].start == 2


@pytest.mark.parametrize("span", [(0, 13), (-1, 2), (3, 3), (5, 4)])
def test_a_mention_outside(span: tuple[int, int]) -> None:
    with pytest.raises(DataProblem, match=r"here: got the mention .*; expected \[start, end\) within its 12 words"):
        check_entities("here", [[(0, 1)], [span]], len(WORDS))


def test_a_mention_twice() -> None:
    with pytest.raises(DataProblem, match=r"here: the mention \[0, 1\] is there twice"):
        check_entities("here", [[(0, 1)], [(2, 7), (0, 1)]], len(WORDS))


@pytest.mark.parametrize(
    ("words", "expected"), [([], "has no words"), (["a", ""], "word 1 is ''"), ([3], "word 0 is 3")]
)
def test_words_that_are_none(words: list[object], expected: str) -> None:
    with pytest.raises(DataProblem, match=f"here: .*{expected}"):
        check_words("here", words)
