"""Which tokens are whole words, and that their texts give them back."""

from __future__ import annotations

import pytest

from headcount.data.synthetic.whole_words import draw_whole_words
from tests.data.synthetic.tokenizers import KINDS, make, plain_ids


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_is_its_token(kind: str) -> None:
    tokenizer = make(kind)
    words = draw_whole_words(tokenizer, 200, seed=0)
    assert len(words) == 200
    assert not set(words) & set(tokenizer.all_special_ids)
    for token, word in words.items():
        assert word.isalnum()
        assert not word.isnumeric()
        assert plain_ids(tokenizer, f"the {word}")[-1] == token


def test_the_seed_draws_them() -> None:
    tokenizer = make("bpe")
    assert draw_whole_words(tokenizer, 50, seed=3) == draw_whole_words(tokenizer, 50, seed=3)
    assert set(draw_whole_words(tokenizer, 50, seed=3)) != set(draw_whole_words(tokenizer, 50, seed=4))


def test_a_small_vocabulary_gives_what_it_has() -> None:
    tokenizer = make("unigram")
    words = draw_whole_words(tokenizer, 10**6, seed=0)
    pieces = {token for token, number in tokenizer.get_vocab().items() if number in words}
    assert 100 < len(words) < len(tokenizer)
    assert all(piece.startswith("▁") for piece in pieces), "pieces inside words are no whole words"
