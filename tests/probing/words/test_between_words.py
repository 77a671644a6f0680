"""Attention between words: sums to a split word, means from one, nothing of words that are not known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from headcount.probing.words.between_words import as_word_pieces, between_words, from_words, to_words

WORDS = [[None, 0, 1, 1, 2, None], [None, 0, 1, None, None, None]]
KNOWN = [[True, True, True], [True, True]]


def view(seed: int = 0) -> Any:
    """What a view of a layer holds: a map of rows that sum to 1, and the sums of the rows."""
    torch.manual_seed(seed)
    rows = torch.rand(2, 3, 6, 6, dtype=torch.float64)
    return SimpleNamespace(unnormalised=rows, total=rows.sum(-1))


@pytest.mark.parametrize("source", ["mean", "first"])
def test_equal_to_loops(source: str) -> None:
    seen = view()
    found = between_words(seen, as_word_pieces(WORDS, KNOWN, "cpu", source))
    maps = seen.unnormalised / seen.total[..., None]
    for text in range(2):
        pieces = [[at for at, word in enumerate(WORDS[text]) if word == number] for number in range(3)]
        for one in range(len(KNOWN[text])):
            for other in range(len(KNOWN[text])):
                sums = [maps[text, :, a, pieces[other]].sum(-1) for a in pieces[one]]
                expected = sums[0] if source == "first" else torch.stack(sums).mean(0)
                torch.testing.assert_close(found[text, :, one, other], expected)


def test_words_that_are_not_known_have_no_attention() -> None:
    found = between_words(view(), as_word_pieces(WORDS, [[True, False, True], [True, True]], "cpu"))
    assert not found[0, :, 1].any()
    assert not found[0, :, :, 1].any()
    assert found[0, :, 0, 2].all()
    assert not found[1, :, 2].any(), "a word that the shorter text does not have"


def test_rows_sum_to_what_goes_to_words() -> None:
    seen = view()
    found = between_words(seen, as_word_pieces([[0, 0, 1, 1, 2, 2]] * 2, [[True] * 3] * 2, "cpu"))
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 3, 3, dtype=torch.float64))


@pytest.mark.parametrize("source", ["mean", "first"])
def test_some_words_are_rows_and_columns_of_all(source: str) -> None:
    seen, pieces = view(), as_word_pieces(WORDS, KNOWN, "cpu", source)
    every = between_words(seen, pieces)
    chosen = torch.tensor([[2, 0], [1, 1]])
    there, back = from_words(seen, pieces, chosen), to_words(seen, pieces, chosen)
    for text, numbers in enumerate(chosen.tolist()):
        torch.testing.assert_close(there[text], every[text][:, numbers])
        torch.testing.assert_close(back[text], every[text][:, :, numbers].transpose(1, 2))
