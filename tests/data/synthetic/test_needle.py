"""Needles: where the fact is, how long the text, which characters the answer has in it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.synthetic.haystack import read_haystack
from headcount.data.synthetic.needle import Needle
from headcount.errors import DataProblem
from tests.data.synthetic.tokenizers import KINDS, make


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5)
@given(depth=st.floats(0, 1), tokens=st.integers(200, 900), seed=st.integers(0, 99))
def test_length_place_and_characters_of_the_answer(kind: str, depth: float, tokens: int, seed: int) -> None:
    tokenizer = make(kind)
    longest = int(read_haystack(None, tokenizer).lengths.max())
    for row in Needle(depth=(depth,), tokens=(tokens,)).table(tokenizer, 2, seed).itertuples():
        text = row.prompt + row.completion
        assert row.completion == f" {row.answer}"
        assert text[row.needle_start : row.needle_end] == row.answer
        assert text.count(row.answer) == 2
        assert row.needle_start == text.index(row.needle) + row.needle.index(row.answer)
        assert tokens - 2 * longest < len(tokenizer(text)["input_ids"]) <= tokens
        before = len(tokenizer(text[: text.index(row.needle)])["input_ids"])
        after = len(tokenizer(text[text.index(row.needle) + len(row.needle) : text.index("\n")])["input_ids"])
        assert abs(before - depth * (before + after)) <= longest


def test_rows_take_turns_through_depths_and_lengths() -> None:
    tokenizer = make("bpe")
    source = Needle(depth=(0.0, 1.0), tokens=(150, 300))
    table = source.table(tokenizer, 8, seed=0)
    assert list(zip(table["tokens"], table["depth"], strict=True)) == [(150, 0), (150, 1), (300, 0), (300, 1)] * 2
    first = table[table["depth"] == 0]
    assert all(text.startswith(needle) for text, needle in zip(first["prompt"], first["needle"], strict=True))
    pd.testing.assert_frame_equal(source.table(tokenizer, 3, seed=0), table.head(3))
    assert table["prompt"].tolist() != source.table(tokenizer, 8, seed=1)["prompt"].tolist()


def test_the_text_of_a_file(tmp_path: Path) -> None:
    sentences = [f"Line {number} of the story is here." for number in range(60)]
    (tmp_path / "story.txt").write_text("\n".join(sentences), encoding="utf-8")
    table = Needle(text=tmp_path / "story.txt", tokens=(200,)).table(make("bpe"), 3, seed=0)
    for row in table.itertuples():
        rest = row.prompt.partition("\n")[0].replace(row.needle, "")
        assert set(rest.replace(". ", ".\n").split("\n")) - {""} <= {*sentences, *(f" {one}" for one in sentences)}


def test_no_sentence_fits(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text("word " * 2000, encoding="utf-8")
    with pytest.raises(DataProblem, match="no sentence that fits into a text of 64 tokens beside the fact"):
        Needle(text=tmp_path / "story.txt", tokens=(64,)).table(make("bpe"), 1, 0)
