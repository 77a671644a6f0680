"""Random tokens repeated: every text is encoded as these tokens, the same in each copy, each once in a copy."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.synthetic.repeat import Repeat
from headcount.errors import DataProblem
from tests import planted
from tests.data.synthetic.tokenizers import KINDS, make, plain_ids


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(length=st.integers(2, 60), times=st.integers(2, 4), seed=st.integers(0, 2**32 - 1))
def test_the_text_is_encoded_as_copies_of_distinct_tokens(kind: str, length: int, times: int, seed: int) -> None:
    tokenizer = make(kind)
    table = Repeat(length=length, times=times).table(tokenizer, 3, seed)
    for row in table.itertuples():
        ids = plain_ids(tokenizer, row.prompt + row.completion)
        copy = ids[:length]
        assert ids == copy * times
        assert len(set(copy)) == length
        assert not set(copy) & set(tokenizer.all_special_ids)
        assert plain_ids(tokenizer, row.prompt) == copy
        assert row.completion.endswith(row.prompt.strip())


def test_rows_depend_on_the_seed_and_their_number_only() -> None:
    source, tokenizer = Repeat(length=9), make("bpe")
    whole = source.table(tokenizer, 12, seed=5)
    pd.testing.assert_frame_equal(source.table(tokenizer, 12, seed=5), whole)
    pd.testing.assert_frame_equal(source.table(tokenizer, 4, seed=5), whole.head(4))
    assert whole["prompt"].nunique() == 12
    assert not set(source.table(tokenizer, 12, seed=6)["prompt"]) & set(whole["prompt"])


def test_too_few_words(tmp_path: Any) -> None:
    with pytest.raises(DataProblem, match="has 9 tokens that are whole words, fewer than the length 10"):
        Repeat(length=10).table(planted.tokenizer(tmp_path), 1, 0)


class Glued:
    """A tokenizer that merges two words wherever they meet: alone they are as expected."""

    all_special_ids: tuple[int, ...] = ()

    def __init__(self) -> None:
        self.words = {f"{a}{b}": 1 + number for number, (a, b) in enumerate((a, b) for a in "abcd" for b in "efgh")}

    def get_vocab(self) -> dict[str, int]:
        return self.words

    def decode(self, ids: list[int]) -> str:
        return next(word for word, number in self.words.items() if number == ids[0])

    def __call__(self, text: Any, **_: Any) -> dict[str, Any]:
        return {"input_ids": self._one(text) if isinstance(text, str) else [self._one(each) for each in text]}

    def _one(self, text: str) -> list[int]:
        ids = [self.words.get(word, 0) for word in text.split()]
        return ids if 0 in ids else [sum(ids)]


def test_a_text_that_is_encoded_differently_is_refused() -> None:
    with pytest.raises(DataProblem, match="encodes none of 20 texts of random tokens as these tokens"):
        Repeat(length=4).table(Glued(), 1, 0)


def test_a_text_that_is_encoded_differently_is_drawn_again() -> None:
    class Sometimes(Glued):
        def _one(self, text: str) -> list[int]:
            ids = [self.words.get(word, 0) for word in text.split()]
            return ids if 0 in ids or ids[0] > 2 else [sum(ids)]

    tokenizer = Sometimes()
    table = Repeat(length=4).table(tokenizer, 20, 0)
    first = [tokenizer.words[text.split()[0]] for text in table["prompt"]]
    assert min(first) > 2
