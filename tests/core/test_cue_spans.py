"""Where cue words are, against the tokens that cues are made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headcount.core.cue_spans import find_spans
from headcount.statistical_cues.tokenize import split_texts

TEXTS = st.text(alphabet="ab 'N!,", max_size=24)


@given(TEXTS, st.sampled_from(["words", "whitespace"]), st.booleans())
def test_every_token_is_found_where_it_is(text: str, rule: str, cased: bool) -> None:
    """All unigrams together cover exactly the characters that are no white space."""
    tokens = split_texts([text], rule, cased)
    names = sorted({str(tokens.names[code]) for code in tokens.codes})
    covered = {at for start, end in find_spans(text, names, rule, cased) for at in range(start, end)}
    assert covered == {at for at, character in enumerate(text) if not character.isspace()}


def test_no_part_of_a_word() -> None:
    assert find_spans("knot nothing don't can't", ["not", "t", "don"]) == []
    assert find_spans("Do  NOT ever", ["do not", "not ever"]) == [(0, 12)]
    assert find_spans("Not not", ["Not"], cased=True) == [(0, 3)]
    assert find_spans("so, it", [", it"]) == [(2, 6)]
