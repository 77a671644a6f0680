"""Sentences as a model reads them: words with spaces between, words that are lost, blank and long sentences."""

from __future__ import annotations

import pytest

from headcount.data.annotations import Annotated
from headcount.errors import BlankRows, DataProblem
from headcount.probing.words.sentences import encode_sentences
from tests.measures.tiny import masked


def of(*words: str, name: str = "1") -> Annotated:
    size = len(words)
    return Annotated(name, words, ("X",) * size, ("dep",) * size, tuple(range(size)), {})


def test_the_words_of_tokens() -> None:
    found = encode_sentences([of("dogs", "saw", "the", "cat")], *masked(), None, 0, 512)
    assert found.words == [[None, 0, 0, 1, 2, 3, None]], "dog ##s"
    assert found.known == [[True] * 4]
    assert found.inputs.texts == ["dogs saw the cat"]
    assert not any(found.lost.values())


def test_words_that_the_tokenizer_drops_are_counted() -> None:
    """A soft hyphen alone is a control character for BERT's normaliser."""
    found = encode_sentences([of("the", "\N{ZERO WIDTH SPACE}", "cat")], *masked(), None, 0, 512)
    assert found.known == [[True, False, True]]
    assert (found.lost["without a token"], found.lost["sharing a token"]) == (1, 0)


def test_words_that_are_cut_off_are_counted() -> None:
    found = encode_sentences([of(*["cat"] * 12), of("a", "dog")], *masked(), None, 0, 8)
    assert found.inputs.cut == 1
    assert found.known[0] == [True] * 6 + [False] * 6
    assert found.lost["without a token"] == 6


def test_sentences_without_words_are_left_out() -> None:
    with pytest.warns(BlankRows, match="1 of 3"):
        found = encode_sentences([of("a", "dog"), of(name="2"), of("a", "cat", name="3")], *masked(), None, 0, 512)
    assert [sentence.name for sentence in found.annotated] == ["1", "3"]
    assert found.inputs.ids.tolist() == [0, 2]
    with pytest.raises(DataProblem):
        encode_sentences([of(name="2")], *masked(), None, 0, 512)


def test_a_limit_draws_by_the_seed() -> None:
    many = [of("a", "dog", name=str(number)) for number in range(30)]
    first, again, other = (encode_sentences(many, *masked(), 5, seed, 512).inputs.ids.tolist() for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert len(first) == 5
