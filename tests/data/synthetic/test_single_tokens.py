"""Words that are a single token: which, and what is said of the others."""

from __future__ import annotations

import pytest

from headcount.data.synthetic.names import NAMES
from headcount.data.synthetic.single_tokens import left_out_note, single_tokens
from tests.data.synthetic.tokenizers import KINDS, make, plain_ids


def test_only_words_that_are_one_token() -> None:
    tokenizer = make("wordpiece")
    kept = single_tokens(tokenizer, (*NAMES, "Ottilie", "Zbigniew"))
    assert "Mary" in kept
    assert "Zbigniew" not in kept
    assert all(len(plain_ids(tokenizer, name)) == 1 for name in kept)


@pytest.mark.parametrize("kind", KINDS)
def test_none_is_unknown(kind: str) -> None:
    assert single_tokens(make(kind), ["\u0f04", "\u5b57"]) == []


def test_a_note_only_where_something_is_left_out() -> None:
    assert left_out_note("names", 3, 3, "first names") == []
    assert "leaves out 2 of 3 first names" in left_out_note("names", 1, 3, "first names")[0]
