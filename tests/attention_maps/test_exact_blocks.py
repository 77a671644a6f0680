"""Which blocks of a long map are kept: within the map, from end to end, on the diagonal and at the first keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headcount.attention_maps.exact_blocks import MOST_BYTES, MOST_POSITIONS, SIZE, plan_blocks


@given(queries=st.integers(1, 10**5), keys=st.integers(1, 10**5), heads=st.integers(1, 5000))
def test_blocks_lie_within_the_map_and_within_the_bytes(queries: int, keys: int, heads: int) -> None:
    blocks = plan_blocks(queries, keys, heads)
    assert (blocks.queries, blocks.keys) == (min(SIZE, queries), min(SIZE, keys))
    assert len(set(blocks.starts)) == len(blocks.starts) <= 2 * MOST_POSITIONS
    assert all(0 <= query <= queries - blocks.queries for query, _ in blocks.starts)
    assert all(0 <= key <= keys - blocks.keys for _, key in blocks.starts)
    taken = heads * len(blocks.starts) * blocks.queries * blocks.keys
    assert taken <= MOST_BYTES or len(blocks.starts) <= 2  # the first block is always kept


def test_a_text_has_its_diagonal_and_its_first_keys_from_end_to_end() -> None:
    starts = plan_blocks(32768, 32768, 512).starts
    diagonal = [query for query, key in starts if query == key]
    assert (diagonal[0], diagonal[-1]) == (0, 32768 - SIZE)
    assert [query for query, key in starts if key == 0] == diagonal


def test_of_cross_attention_the_diagonal_goes_from_corner_to_corner() -> None:
    starts = plan_blocks(200, 1000, 8).starts
    assert (200 - SIZE, 1000 - SIZE) in starts
