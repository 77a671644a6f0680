from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headcount.data.marks import Facts
from headcount.data.rarity import mark_rarest


def _facts(ids: list[int]) -> Facts:
    return Facts(
        len(ids), [0] * len(ids), [-1] * len(ids), {"other": [p for p, number in enumerate(ids) if number > 2]}
    )


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=5))
def test_no_candidate_is_rarer(texts: list[list[int]]) -> None:
    facts = [_facts(ids) for ids in texts]
    mark_rarest(texts, facts)
    everything = [number for ids in texts for number in ids]
    for ids, one in zip(texts, facts, strict=True):
        places = one.classes["other"]
        assert len(one.classes["rarest"]) == bool(places)
        for place in one.classes["rarest"]:
            assert place in places
            assert all(everything.count(ids[place]) <= everything.count(ids[other]) for other in places)


def test_the_later_of_the_vocabulary_breaks_ties() -> None:
    facts = [_facts([5, 8, 8, 3])]
    mark_rarest([[5, 8, 8, 3]], facts)
    assert facts[0].classes["rarest"] == [0]
