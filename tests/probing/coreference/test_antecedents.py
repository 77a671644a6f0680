"""Cases: which mentions are asked for, with which antecedents and candidates, and what is lost."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.data.coreference.documents import make_document
from headcount.errors import DataProblem
from headcount.probing.coreference.antecedents import BROKEN, OUTSIDE, REPEATED, UNKNOWN, Cases, find_cases
from headcount.probing.coreference.windows import cut_documents
from tests.measures.tiny import masked

WORDS = ["the", "dog", "saw", "her", "cat", ".", "it", "chased", "the", "dog", "."]
ENTITIES = [[(0, 2), (6, 7), (8, 10)], [(3, 4)], [(3, 5)]]
DOCUMENT = make_document("d", WORDS, [0, 6], ENTITIES)


def cases(known: list[bool] | None = None, entities: list[list[tuple[int, int]]] = ENTITIES) -> Cases:
    document = make_document("d", WORDS, [0, 6], entities)
    windows = cut_documents([document, DOCUMENT], masked()[1], 64)
    return find_cases(windows, [known or [True] * 11, [True] * 11])


def test_antecedents_and_candidates() -> None:
    found = cases()
    assert found.relations == ("all", "pronoun", "nominal")
    it, dog = found.cases[0]
    assert (it.word, it.kind, it.antecedents, it.earlier) == (6, "pronoun", (1,), (1, 3, 4))
    assert (dog.word, dog.kind, dog.antecedents, dog.earlier) == (9, "nominal", (1, 6), (1, 3, 4, 6))
    assert it.right == (False, False, False), "cat is the nearest, and agrees"
    assert dog.right == (True, True, True)
    assert found.counted().tolist() == [[2, 1, 1]] * 2
    assert found.rule_hits()[0].tolist() == [[1, 0, 1]] * 3
    assert not any(found.lost.values())


def test_words_without_tokens_are_no_cases_and_no_candidates() -> None:
    it = [word != 6 for word in range(11)]
    found = cases(it)
    assert [case.word for case in found.cases[0]] == [9]
    assert 6 not in found.cases[0][0].earlier
    assert found.lost == {OUTSIDE: 0, BROKEN: 0, UNKNOWN: 1, REPEATED: 0}
    dog = [word != 1 for word in range(11)]
    assert cases(dog).lost[UNKNOWN] == 1, "the pronoun, whose only antecedent is not known"


def test_nested_mentions_of_one_entity_are_one() -> None:
    found = cases(entities=[[(0, 2), (6, 7), (8, 10), (9, 10)], [(3, 4)], [(3, 5)]])
    assert [case.word for case in found.cases[0]] == [6, 9]
    assert found.lost[REPEATED] == 1


@pytest.mark.parametrize("among", ["words", "mentions"])
def test_a_batch(among: str) -> None:
    known = [word != 2 for word in range(11)]
    found = cases(known)
    asked = found.batch([1, 0], [known, [True] * 11], 12, among, "cpu")
    assert asked.words.tolist() == [[6, 9], [6, 9]]
    assert np.flatnonzero(asked.antecedents[1, 1]).tolist() == [1, 6]
    expected = [1, 3, 4] if among == "mentions" else [0, 1, 3, 4, 5, 7, 8, 9, 10]
    assert np.flatnonzero(asked.allowed[1, 0]).tolist() == expected
    assert asked.labels[0].tolist() == [[1, 1, 0], [1, 0, 1]]
    assert not (asked.antecedents & ~asked.allowed).any()


def test_too_few_documents() -> None:
    windows = cut_documents([DOCUMENT], masked()[1], 64)
    with pytest.raises(DataProblem, match="got one document with antecedents"):
        find_cases(windows, [[True] * 11])
    with pytest.raises(DataProblem, match="no mention has an antecedent in its window"):
        find_cases(windows, [[False] * 11])
