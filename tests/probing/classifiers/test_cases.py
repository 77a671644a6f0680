"""Batches of sentences: all of them once, padded with what can be neither chosen nor counted."""

from __future__ import annotations

import numpy as np
import torch

from headcount.probing.classifiers.cases import NO_CASE, in_order, pad_cases, shuffled
from tests.probing.classifiers.examples import cases


def test_padding_is_neither_chosen_nor_counted() -> None:
    several = cases(20)
    batch = pad_cases(several)
    for row, case in enumerate(several):
        own = len(case.heads)
        assert torch.equal(batch.heads[row, :own], case.heads)
        assert (batch.heads[row, own:] == NO_CASE).all()
        assert not batch.allowed[row, :, own:].any()
        assert batch.attention is not None
        assert case.attention is not None
        assert torch.equal(batch.attention[row, :own, :own].half(), case.attention)
    assert not batch.allowed.diagonal(0, 1, 2).any(), "no word is its own head"


def test_every_sentence_comes_once() -> None:
    several = cases(70)
    lengths = sorted(int((case.heads != NO_CASE).sum()) for case in several)
    generator = np.random.default_rng(0)
    for _ in range(2):
        batches = list(shuffled(several, generator))
        assert sorted(int(size) for batch in batches for size in (batch.heads != NO_CASE).sum(-1)) == lengths
    assert sorted(number for numbers, _ in in_order(several) for number in numbers) == list(range(70))
