"""Labels of equal tokens, and how many of them stand where they are looked for, against all pairs."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from headcount.data.occurrences import earlier_matches, matches_across, small_labels

rows = st.integers(1, 12).flatmap(
    lambda width: st.lists(st.lists(st.integers(-1, 4), min_size=width, max_size=width), min_size=1, max_size=4)
)


@given(rows, st.integers(0, 2))
def test_earlier_tokens_that_follow_the_same_one(tokens: list[list[int]], distance: int) -> None:
    token = torch.tensor(tokens)
    readable = token >= 0
    readable[:, 0] = False
    queries, keys, count = earlier_matches(token, readable, distance)
    for example, row in enumerate(tokens):
        for query, own in enumerate(row):
            expected = [
                key
                for key in range(1, query)
                if row[key] != -1 and key >= distance and row[key - distance] == own != -1
            ]
            found = (keys[example, :query] == queries[example, query]) & (queries[example, query] >= 0)
            assert found.nonzero()[:, 0].tolist() == expected
            assert int(count[example, query]) == len(expected)


@given(rows, st.data())
def test_words_of_the_other_text(forms: list[list[int]], data: st.DataObject) -> None:
    form = torch.tensor(forms)
    segment = torch.tensor(data.draw(st.lists(st.integers(0, 1), min_size=form.shape[1], max_size=form.shape[1])))
    queries, keys, count = matches_across(form, segment.expand_as(form))
    same = (form[:, :, None] == form[:, None]) & (form >= 0)[:, :, None] & (segment[:, None] != segment)
    assert torch.equal((queries[:, :, None] == keys[:, None]) & (queries >= 0)[:, :, None], same)
    assert torch.equal(count, same.sum(-1))


def test_ids_of_any_size() -> None:
    token = torch.tensor([[0, 2**40, 0], [2**61, 2**61, 1]])
    assert small_labels(token).tolist() == [[0, 2, 0], [3, 3, 1]]
    assert earlier_matches(token, token >= 0).counts.tolist() == [[0, 0, 1], [0, 1, 0]]


def test_none_in_texts_of_special_tokens() -> None:
    token = torch.full((2, 5), -1)
    assert not earlier_matches(token, token >= 0, 1).counts.any()
    assert not matches_across(token, torch.zeros_like(token)).counts.any()


def test_all_occurrences_of_a_very_long_text_are_counted() -> None:
    token = torch.zeros(1, 40_000, dtype=torch.long)
    assert torch.equal(earlier_matches(token, token >= 0).counts, torch.arange(40_000)[None])
