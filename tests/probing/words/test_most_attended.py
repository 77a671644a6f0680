"""The word that a head connects each word with, without itself and without words that are not known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from headcount.probing.words.between_words import as_word_pieces
from headcount.probing.words.contract import SeenWords
from headcount.probing.words.most_attended import most_attended


def test_both_directions() -> None:
    weights = torch.tensor([[[[0.7, 0.1, 0.2], [0.3, 0.5, 0.2], [0.1, 0.8, 0.1]]]])
    view: Any = SimpleNamespace(unnormalised=weights, total=weights.sum(-1))
    every = most_attended(SeenWords(view, as_word_pieces([[0, 1, 2]], [[True] * 3], "cpu"), None))
    assert every[0, 0].tolist() == [[2, 0, 1], [1, 2, 0]]
    some = most_attended(SeenWords(view, as_word_pieces([[0, 1, 2]], [[True, True, False]], "cpu"), None))
    assert some[0, 0, :, :2].tolist() == [[1, 0], [1, 0]]
