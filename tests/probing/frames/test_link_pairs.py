"""Which unlinked pairs a link is compared with."""

from __future__ import annotations

import pytest

from headcount.data.frame_links import Filtered, FrameSentence, Link
from headcount.errors import DataProblem
from headcount.probing.frames.link_pairs import LEAST, find_pairs

WORDS = ("she", "never", "once", "saw", "it", "there", ".")


def sentence(*links: Link, linked: tuple[tuple[int, int], ...] = (), words: tuple[str, ...] = WORDS) -> FrameSentence:
    own = {(min(a, b), max(a, b)) for link in links for a in link.element for b in link.target}
    return FrameSentence("1", " ".join(words), words, links, frozenset({*own, *linked}), Filtered({}, 1))


SEER = Link((0,), (3,), ("Seer",))
KNOWN = [True] * 7
TOKENS = [None, 0, 1, 2, 3, 4, 5, 6, None]


def unlinked(one: FrameSentence, known: list[bool] = KNOWN, tokens: list[int | None] = TOKENS) -> list[tuple[int, int]]:
    [[blocks]] = find_pairs([one], [known], [tokens]).blocks
    return [pairs[0] for pairs in blocks.unlinked]


def test_the_same_distance_without_punctuation() -> None:
    assert unlinked(sentence(SEER)) == [(1, 4), (2, 5)]
    assert unlinked(sentence(Link((5,), (2,), ("Place",)))) == [(3, 0), (4, 1)]


def test_no_pair_that_any_annotation_links() -> None:
    assert unlinked(sentence(SEER, linked=((2, 5),))) == [(1, 4)]
    assert unlinked(sentence(SEER, linked=((1, 4), (2, 5)))) == []


def test_no_word_that_is_not_known() -> None:
    assert unlinked(sentence(SEER), known=[True, False, True, True, True, True, True]) == [(2, 5)]


def test_as_many_pieces_in_the_word_that_is_attended_to() -> None:
    """`it` is split: from an element to its predicate it is no comparison for `saw`, in the other direction it is."""
    [[blocks]] = find_pairs([sentence(SEER)], [KNOWN], [[None, 0, 1, 2, 3, 4, 4, 5, 6, None]]).blocks
    assert dict(zip([pairs[0] for pairs in blocks.unlinked], blocks.alike, strict=True)) == {
        (1, 4): (False, True),
        (2, 5): (True, True),
    }


def test_a_block_has_the_shape_of_its_link() -> None:
    [[blocks]] = find_pairs([sentence(Link((0, 1), (4,), ("Seer",)))], [KNOWN], [TOKENS]).blocks
    assert blocks.pairs == [(0, 4), (1, 4)]
    assert blocks.unlinked == [[(1, 5), (2, 5)]]


def test_links_of_words_that_are_lost() -> None:
    flags = [False, *KNOWN[1:]]
    found = find_pairs([sentence(SEER), sentence(SEER)], [flags, KNOWN], [TOKENS, TOKENS])
    assert found.unknown == 1
    assert [len(blocks) for blocks in found.blocks] == [0, 1]
    assert found.named().tolist() == [[[False]], [[True]]]
    with pytest.raises(DataProblem, match="every link"):
        find_pairs([sentence(SEER)], [flags], [TOKENS])


def test_links_without_a_comparison_are_counted() -> None:
    whole = sentence(Link((0,), (5,), ("Seer",)), words=WORDS[:6])
    found = find_pairs([sentence(SEER), whole], [KNOWN, KNOWN[:6]], [TOKENS, TOKENS[:7]])
    assert found.incomparable() == [1, 1]


@pytest.mark.parametrize(("count", "expected"), [(LEAST - 1, ("all",)), (LEAST, ("all", "Seer"))])
def test_elements_that_enough_sentences_have(count: int, expected: tuple[str, ...]) -> None:
    assert find_pairs([sentence(SEER)] * count, [KNOWN] * count, [TOKENS] * count).relations == expected


def test_other_links_are_another_result() -> None:
    one, same, other = (
        find_pairs([sentence(SEER, linked=linked)], [KNOWN], [TOKENS]).digest() for linked in ((), (), ((1, 4),))
    )
    assert one == same != other
