"""Presence of unigrams and bigrams: as a loop over tokens finds it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headcount.statistical_cues.presence import find_cues
from headcount.statistical_cues.tokenize import split_texts


@given(st.lists(st.text("ab "), min_size=1, max_size=10), st.integers(1, 3), st.booleans())
def test_as_a_loop(texts: list[str], least: int, bigrams: bool) -> None:
    owned = []
    for text in texts:
        tokens = text.split()
        pairs = [f"{first} {second}" for first, second in pairwise(tokens)]
        owned.append(set(tokens) | (set(pairs) if bigrams else set()))
    counts = {cue: sum(cue in each for each in owned) for each in owned for cue in each}
    expected = sorted((cue for cue, count in counts.items() if count >= least), key=lambda cue: (cue.count(" "), cue))
    presence = find_cues(split_texts(texts, "whitespace"), bigrams, least)
    assert presence.names.tolist() == expected
    assert presence.sizes.tolist() == [1 + cue.count(" ") for cue in expected]
    assert presence.matrix.toarray().tolist() == [[int(cue in each) for cue in expected] for each in owned]


def test_no_bigram_reaches_into_the_next_text() -> None:
    assert find_cues(split_texts(["a b", "c"], "whitespace")).names.tolist() == ["a", "b", "c", "a b"]
