"""Haystacks: consecutive sentences that fit, from a file or the bundled texts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.synthetic.haystack import LONGEST, Haystack, read_haystack, split_sentences
from headcount.errors import DataProblem
from tests.data.synthetic.tokenizers import make, plain_ids


@given(st.text(alphabet="ab .!?\n", max_size=300))
def test_sentences_have_all_words_in_their_order(text: str) -> None:
    sentences = split_sentences(text)
    assert " ".join(sentences).split() == text.split()
    assert all(0 < len(sentence.split()) <= LONGEST for sentence in sentences)


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=20), seed=st.integers(0, 99), data=st.data())
def test_as_many_consecutive_sentences_as_fit(lengths: list[int], seed: int, data: st.DataObject) -> None:
    haystack = Haystack("it", [str(number) for number in range(len(lengths))], np.array(lengths))
    room = data.draw(st.integers(0, sum(lengths)))
    sentences, chosen = haystack.draw(room, np.random.default_rng(seed))
    numbers = [int(sentence) for sentence in sentences]
    assert all(after == (before + 1) % len(lengths) for before, after in pairwise(numbers))
    assert len(set(numbers)) == len(numbers)
    assert [lengths[number] for number in numbers] == chosen.tolist()
    assert chosen.sum() <= room
    if numbers and len(numbers) < len(lengths):
        assert chosen.sum() + lengths[(numbers[-1] + 1) % len(lengths)] > room


def test_a_file_and_the_bundled_texts(tmp_path: Path) -> None:
    tokenizer = make("bpe")
    (tmp_path / "novel.txt").write_text("It rained. We stayed\nat home!", encoding="utf-8")
    novel = read_haystack(tmp_path / "novel.txt", tokenizer)
    assert novel.sentences == ["It rained.", "We stayed at home!"]
    assert novel.lengths.tolist() == [len(plain_ids(tokenizer, f" {sentence}")) for sentence in novel.sentences]
    assert read_haystack(None, tokenizer).lengths.sum() > 8000
    with pytest.raises(DataProblem, match=r"novel\.txt has .* tokens, too few for a text of 500"):
        novel.draw(500, np.random.default_rng(0))
    with pytest.raises(DataProblem, match="there is no file"):
        read_haystack(tmp_path / "other.txt", tokenizer)
