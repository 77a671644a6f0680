"""Head words and kinds of mentions, by hand-made examples."""

from __future__ import annotations

import pytest

from headcount.data.coreference.mentions import capitalised, head_word, mention_kind

NO_NAMES: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("the opposite side of the house", "side"),
        ("a detachment of troops , with their baggage", "detachment"),
        ("S. Catherine \u2019s Church", "Church"),
        ("the porter of Mrs Gildea 's London flat", "porter"),
        ("Dr. Martin Luther King Jr.", "King"),
        ("those who revelled", "those"),
        ("that noble mole", "mole"),
        ("she", "she"),
        ("the girls '", "girls"),
        ("'s", "'s"),
    ],
)
def test_the_head_word_without_parts_of_speech(mention: str, expected: str) -> None:
    words = mention.split()
    assert words[head_word(words)] == expected


@pytest.mark.parametrize(
    ("mention", "tags", "expected"),
    [
        ("a man called Jim", "DT NN VBN NNP", "man"),
        ("John and his mother", "NNP CC PRP$ NN", "John"),
        ("the old and tired man in it", "DT JJ CC JJ NN IN PRP", "man"),
        ("the company 's board", "DT NN POS NN", "board"),
        ("his", "PRP$", "his"),
        ("the rich", "DT JJ", "rich"),
    ],
)
def test_the_head_word_with_parts_of_speech(mention: str, tags: str, expected: str) -> None:
    words = mention.split()
    assert words[head_word(words, tags.split())] == expected


def test_kinds_without_parts_of_speech() -> None:
    def kind(word: str, begins: bool = False, names: frozenset[str] = NO_NAMES, alone: bool = True) -> str:
        return mention_kind(word, None, begins, names, alone)

    assert [kind(word) for word in ("He", "his", "I", "themselves")] == ["pronoun"] * 4
    assert kind("Emma") == "proper"
    assert kind("Emma", begins=True) == "nominal", "the first word of a sentence always has a capital"
    assert kind("Emma", begins=True, names=frozenset({"Emma"})) == "proper"
    assert kind("one", alone=False) == "nominal", "the big one"


def test_kinds_with_parts_of_speech() -> None:
    assert mention_kind("Rivers", "NNP", True, NO_NAMES, True) == "proper"
    assert mention_kind("Rivers", "NNS", False, NO_NAMES, True) == "nominal"
    assert mention_kind("hers", "PRP", False, NO_NAMES, False) == "pronoun"


def test_only_capitals_inside_of_sentences_count() -> None:
    assert capitalised(["The", "man", "saw", "Emma", ".", "Dogs", "ran"], [0, 5]) == {"Emma"}
