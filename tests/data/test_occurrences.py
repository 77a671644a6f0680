from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.occurrences import earlier_occurrences

rows = st.integers(1, 12).flatmap(
    lambda width: st.lists(st.lists(st.integers(-1, 4), min_size=width, max_size=width), min_size=1, max_size=4)
)


@given(rows)
def test_are_all_pairs_of_equal_tokens(tokens: list[list[int]]) -> None:
    found = earlier_occurrences(torch.tensor(tokens))
    expected = {
        (example, query, key)
        for example, row in enumerate(tokens)
        for query, token in enumerate(row)
        for key in range(query)
        if row[key] == token != -1
    }
    pairs = list(zip(*(part.tolist() for part in found), strict=True))
    assert set(pairs) == expected
    assert len(pairs) == len(expected)


def test_ids_of_any_size() -> None:
    example, query, key = earlier_occurrences(torch.tensor([[0, 2**40, 0], [2**40, 2**40, 1]]))
    assert (example.tolist(), query.tolist(), key.tolist()) == ([0, 1], [2, 1], [0, 0])


def test_none_in_texts_of_special_tokens() -> None:
    assert [len(part) for part in earlier_occurrences(torch.full((2, 5), -1))] == [0, 0, 0]


def test_of_too_many_the_latest() -> None:
    """A text of one token again and again, where each one has all before it as earlier occurrences."""
    token = torch.zeros(1, 40, dtype=torch.long)
    assert len(earlier_occurrences(token).query) == 780
    _, query, key = earlier_occurrences(token, most=400)
    assert 200 < len(query) <= 400
    latest = len(query[query == 39])
    assert sorted(key[query == 39].tolist()) == list(range(39 - latest, 39))
    assert key[query == 2].tolist() == [0, 1]
