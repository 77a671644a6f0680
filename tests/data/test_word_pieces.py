"""The word of each token, by the characters that it covers: split, dropped and merged words, pairs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headcount.data.word_pieces import locate_words, lost_words, with_spaces, words_of_tokens

WORDS = st.lists(st.text("abcé字", min_size=1, max_size=5), min_size=1, max_size=6)


@given(WORDS, st.integers(1, 3))
def test_pieces_of_any_size(words: list[str], size: int) -> None:
    """Words cut into pieces of so many characters: each piece is one of its word's."""
    spans, expected, start = [], [], 0
    for number, word in enumerate(words):
        for at in range(0, len(word), size):
            spans.append((start + at, start + min(at + size, len(word))))
            expected.append(number)
        start += len(word) + 1
    assert words_of_tokens([with_spaces(words)], spans, [0] * len(spans)) == expected
    assert lost_words([with_spaces(words)], spans, [0] * len(spans)) == (set(), set())


def test_a_space_before_a_piece_is_not_the_word_before() -> None:
    """As of a byte-level tokenizer, whose pieces hold the space before them."""
    assert words_of_tokens([with_spaces(["an", "owl"])], [(0, 2), (2, 6)], [0, 0]) == [0, 1]
    assert lost_words([with_spaces(["an", "owl"])], [(0, 2), (2, 6)], [0, 0]) == (set(), set())


def test_words_with_spaces_inside() -> None:
    assert words_of_tokens([with_spaces(["1 000", "owls"])], [(0, 1), (2, 5), (6, 10)], [0, 0, 0]) == [0, 0, 1]


def test_the_words_of_a_pair_are_counted_on() -> None:
    spans, sequences = [(0, 0), (0, 2), (0, 0), (0, 3), (4, 6)], [None, 0, None, 1, 1]
    assert words_of_tokens([with_spaces(["an"]), with_spaces(["owl", "is"])], spans, sequences) == [None, 0, None, 1, 2]
    assert lost_words([with_spaces(["an"]), with_spaces(["owl", "is"])], spans[:4], sequences[:4]) == ({2}, set())


def test_words_without_spaces_between() -> None:
    assert locate_words("我愛書。", ["我", "愛", "書", "。"]) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert lost_words([locate_words("我愛書", ["我", "愛", "書"])], [(0, 2), (2, 3)], [0, 0]) == (set(), {0, 1})


@given(WORDS)
def test_words_are_located_in_their_text(words: list[str]) -> None:
    for text in (" ".join(words), "".join(words), "  ".join(words)):
        assert [text[slice(*span)] for span in locate_words(text, words)] == words
