"""Excerpts hold the ends of an arc and count them in the words that are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headcount.probing.coreference.excerpts import AROUND, GAP, cut_excerpt


@given(st.integers(1, 60), st.data())
def test_the_arc_connects_the_same_words(size: int, data: st.DataObject) -> None:
    words = [f"w{number}" for number in range(size)]
    word, said, true = (data.draw(st.integers(0, size - 1)) for _ in range(3))
    shown, [arc] = cut_excerpt(words, (word, said, true))
    assert [shown[end] for end in arc] == [words[end] for end in (word, said, true)]
    assert len(shown) <= 3 * (2 * AROUND + 1) + 4
    kept = [one for one in shown if one != GAP]
    assert kept == sorted(kept, key=words.index), "in their order"


def test_a_short_text_is_shown_whole() -> None:
    assert cut_excerpt(["a", "b", "c"], (2, 0, 1)) == (["a", "b", "c"], [(2, 0, 1)])
