"""Classes and links of annotated words: known answers, the bundled sentences, joined sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.annotations import (
    NEGATIONS,
    WORD_CLASSES,
    WORD_LINKS,
    Annotated,
    join_sentences,
    word_classes,
    word_links,
)
from headcount.data.read_annotated import read_annotated
from headcount.zoo.bundled import bundled_sentences
from tests.data.sentences import CURLY, SNIPPET, conllu, sentences


def test_a_snippet_with_known_answers(tmp_path: Path) -> None:
    first, second, third = read_annotated(conllu(tmp_path, SNIPPET))
    assert [one.name for one in (first, second, third)] == ["first", "2", "3"]
    assert " ".join(first.words) == "Anna did n't think it was written by her rival ."
    assert first.heads == (4, 4, 4, 0, 7, 7, 4, 10, 10, 7, 4)
    assert first.antecedents == {8: 0}
    assert word_classes(first) == {
        "noun": (0, 9),
        "verb": (3, 6),
        "pronoun": (4, 8),
        "subject": (0, 4, 9),
        "object": (),
        "negation": (2,),
    }
    assert word_links(first) == {"verb-subject": ((3, 0), (6, 4)), "noun-pronoun": ((0, 8),)}
    assert word_classes(second) == {
        "noun": (8,),
        "verb": (1, 4),
        "pronoun": (0, 2, 3, 5),
        "subject": (0, 2, 3),
        "object": (5, 8),
        "negation": (2,),
    }
    assert word_links(second) == {"verb-subject": ((1, 2), (4, 3)), "noun-pronoun": ((2, 3),)}
    assert word_classes(third)["subject"] == (1, 2)
    assert word_classes(third)["negation"] == (2,)
    assert word_links(third)["verb-subject"] == ((2, 1),), "the head of the csubj is an adjective"


def test_negations_are_whole_words_in_any_case() -> None:
    assert len(NEGATIONS - {"n't"}) == 17
    yes = ["Not", "NEVER", "n't", f"n{CURLY}t", "N'T", "Don't", f"can{CURLY}t", "nowhere"]
    no = ["no", "knot", "note", "nothings", "do", "t", "'t", "cannot", "without"]
    words = yes + no
    sentence = Annotated("", tuple(words), ("X",) * len(words), ("dep",) * len(words), (0,) * len(words), {})
    assert word_classes(sentence)["negation"] == tuple(range(len(yes)))


@pytest.mark.parametrize(
    ("deprel", "subject", "object_", "link"),
    [
        ("nsubj", True, False, True),
        ("nsubj:pass", True, False, True),
        ("csubj:outer", True, False, True),
        ("expl", True, False, False),
        ("obl:agent", True, False, False),
        ("obl", False, False, False),
        ("obj", False, True, False),
        ("iobj", False, True, False),
        ("obl:arg", False, False, False),
        ("xcomp", False, False, False),
    ],
)
def test_relations(deprel: str, subject: bool, object_: bool, link: bool) -> None:
    sentence = Annotated("", ("go", "x"), ("VERB", "NOUN"), ("root", deprel), (0, 1), {})
    classes = word_classes(sentence)
    assert (classes["subject"] == (1,), classes["object"] == (1,)) == (subject, object_)
    assert word_links(sentence)["verb-subject"] == (((0, 1),) if link else ())
    auxiliary = Annotated("", ("is", "x"), ("AUX", "NOUN"), ("root", deprel), (0, 1), {})
    assert word_links(auxiliary)["verb-subject"] == ()
    assert word_classes(auxiliary)["verb"] == ()


def test_a_subject_without_a_head_is_not_linked_to_the_last_word() -> None:
    sentence = Annotated("", ("x", "go"), ("NOUN", "VERB"), ("nsubj", "root"), (0, 0), {})
    assert word_links(sentence)["verb-subject"] == ()


def test_the_bundled_sentences() -> None:
    sentences = read_annotated(bundled_sentences())
    lines = [line.split("\t") for line in bundled_sentences().read_text(encoding="utf-8").splitlines() if "\t" in line]
    assert len(sentences) == len({one.name for one in sentences}) == 200
    assert sum(len(one.words) for one in sentences) == len(lines)
    for tags, name in (({"NOUN", "PROPN"}, "noun"), ({"VERB"}, "verb"), ({"PRON"}, "pronoun")):
        assert sum(len(word_classes(one)[name]) for one in sentences) == sum(line[3] in tags for line in lines) > 0
    for name in WORD_CLASSES:
        assert sum(len(word_classes(one)[name]) for one in sentences) > 0, name
    for name in WORD_LINKS:
        assert sum(len(word_links(one)[name]) for one in sentences) > 0, name
    links = [(one, pair) for one in sentences for pair in word_links(one)["noun-pronoun"]]
    assert len(links) == sum("Antecedent=" in line[9] for line in lines)
    assert all(one.upos[pronoun] == "PRON" for one, (_, pronoun) in links)
    clockmaker = sentences[0]
    assert [(clockmaker.words[a], clockmaker.words[b]) for a, b in word_links(clockmaker)["noun-pronoun"]] == [
        ("clockmaker", "he"),
        ("watch", "it"),
        ("watch", "its"),
    ]


@given(sentences())
@settings(max_examples=50, deadline=None)
def test_links_and_classes_agree(given: tuple[Annotated, str]) -> None:
    sentence, _ = given
    classes, links = word_classes(sentence), word_links(sentence)
    assert (tuple(classes), tuple(links)) == (WORD_CLASSES, WORD_LINKS)
    naive = [
        (verb, subject)
        for subject in range(len(sentence.words))
        for verb in range(len(sentence.words))
        if sentence.heads[subject] == verb + 1
        and verb in classes["verb"]
        and sentence.deprels[subject] in ("nsubj", "csubj:pass")
    ]
    assert list(links["verb-subject"]) == naive
    assert {pronoun: noun for noun, pronoun in links["noun-pronoun"]} == sentence.antecedents


@given(st.lists(sentences(), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_joined_sentences_keep_their_classes_and_links(given: list[tuple[Annotated, str]]) -> None:
    parts = [sentence for sentence, _ in given]
    whole = join_sentences(*parts)
    before = np.cumsum([0, *(len(one.words) for one in parts)]).tolist()
    assert whole.name == parts[0].name
    for name in ("words", "upos", "deprels"):
        assert getattr(whole, name) == sum((getattr(one, name) for one in parts), ())
    classes, links = word_classes(whole), word_links(whole)
    for name in WORD_CLASSES:
        moved = [word + start for start, one in zip(before, parts, strict=False) for word in word_classes(one)[name]]
        assert classes[name] == tuple(moved)
    for name in WORD_LINKS:
        expected = [
            (a + start, b + start) for start, one in zip(before, parts, strict=False) for a, b in word_links(one)[name]
        ]
        assert links[name] == tuple(expected)
    assert all(0 <= head <= len(whole.words) and head != place for place, head in enumerate(whole.heads, start=1))


@given(sentences(), sentences(), sentences())
@settings(max_examples=20, deadline=None)
def test_joined_one_after_the_other_is_joined_at_once(
    one: tuple[Annotated, str], two: tuple[Annotated, str], three: tuple[Annotated, str]
) -> None:
    a, b, c = one[0], two[0], three[0]
    assert join_sentences(join_sentences(a, b), c) == join_sentences(a, join_sentences(b, c)) == join_sentences(a, b, c)
    assert join_sentences(a) == a


def test_joined_roots_stay_roots() -> None:
    sentence = Annotated("x", ("go", "he"), ("VERB", "PRON"), ("root", "nsubj"), (0, 1), {1: 0})
    whole = join_sentences(sentence, sentence)
    assert whole.heads == (0, 1, 0, 3)
    assert whole.antecedents == {1: 0, 3: 2}
    assert word_links(whole) == {"verb-subject": ((0, 1), (2, 3)), "noun-pronoun": ((0, 1), (2, 3))}
