"""The characters of tokens: offsets of fast tokenizers, pieces of slow ones; what cannot be traced is not guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.token_spans import Traced, check_reads_texts, encode_with_spans, locate_pieces
from headcount.errors import UnsuitableModel
from tests.measures.tiny import masked


class Pieces:
    """A tokenizer without offsets, like Marian's: pieces of at most three letters, and an end of the text."""

    is_fast = False

    def tokenize(self, text: str) -> list[str]:
        words = [f"▁{word}" for word in text.lower().split()]
        return [word[start : start + 3] for word in words for start in range(0, len(word), 3)]

    def __call__(self, text: str, truncation: bool = False, max_length: int = 99, **_: Any) -> dict[str, list[int]]:
        ids = [7] * len(self.tokenize(text))
        if truncation:
            ids = ids[: max_length - 1]
        return {"input_ids": [*ids, 1], "special_tokens_mask": [*[0] * len(ids), 1]}


def test_a_fast_tokenizers_own_offsets() -> None:
    _, tokenizer = masked()
    [traced], cut = encode_with_spans(tokenizer, ["dogs saw"], 20)
    assert traced is not None
    row, spans, sequences = traced.row, traced.spans, traced.sequences
    expected = tokenizer("dogs saw", return_offsets_mapping=True)
    assert row["input_ids"] == expected["input_ids"]
    assert [tuple(span) for span in spans] == expected["offset_mapping"]
    assert sequences == expected.sequence_ids(0)
    assert "offset_mapping" not in row
    assert cut == 0


def test_a_slow_tokenizers_pieces() -> None:
    [traced], cut = encode_with_spans(Pieces(), ["Elle va"], 20)
    assert traced == Traced({"input_ids": [7, 7, 7, 1]}, [(0, 2), (2, 4), (5, 7), (0, 0)], [0, 0, 0, None])
    assert cut == 0


def test_long_texts_are_cut_alike() -> None:
    [traced], cut = encode_with_spans(Pieces(), ["Elle va"], 3)
    assert traced == Traced({"input_ids": [7, 7, 1]}, [(0, 2), (2, 4), (0, 0)], [0, 0, None])
    assert cut == 1


def test_tokens_that_are_not_the_pieces_are_not_guessed() -> None:
    class Dropping(Pieces):
        def __call__(self, text: str, *more: Any, **options: Any) -> dict[str, list[int]]:
            return {name: values[1:] for name, values in super().__call__(text, *more, **options).items()}

    assert encode_with_spans(Dropping(), ["Elle va"], 20) == ([None], 0)


def test_a_text_that_its_pieces_do_not_spell_is_left_out() -> None:
    class Unfaithful(Pieces):
        def tokenize(self, text: str) -> list[str]:
            return [piece.replace("e", "3") for piece in super().tokenize(text)]

    rows, _ = encode_with_spans(Unfaithful(), ["Elle", "va"], 20)
    assert rows[0] is None
    assert rows[1] is not None


def test_what_is_no_tokenizer_is_refused() -> None:
    with pytest.raises(UnsuitableModel, match="got object; expected a tokenizer of texts"):
        check_reads_texts(object())
    check_reads_texts(Pieces())


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("ﬁn", ["▁fin"], [(0, 2)]),
        ("e\u0301te\u0301", ["▁ét", "é"], [(0, 3), (3, 5)]),
        ("a\u200bb", ["▁a", "b"], [(0, 1), (2, 3)]),
        ("1½", ["▁11", "\u20442"], [(0, 2), (1, 2)]),
        ("ab", ["▁a"], None),
        ("ab", ["▁a", "b", "c"], None),
    ],
)
def test_compatible_forms(text: str, pieces: list[str], expected: list[tuple[int, int]] | None) -> None:
    assert locate_pieces(text, pieces) == expected


@given(st.lists(st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=5), min_size=1, max_size=6))
def test_pieces_cover_their_own_characters(words: list[str]) -> None:
    """With each word a piece, the span of a piece is its word, whatever its characters are."""
    text = " ".join(words)
    spans = locate_pieces(text, [f"▁{word}" for word in words])
    assert spans is not None
    for word, (start, end) in zip(words, spans, strict=True):
        assert text[start:end] in ("", word) or text[start:end].strip() in word
