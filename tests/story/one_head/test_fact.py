"""A fact keeps its numbers, and ranks are those of a sorted list."""

from __future__ import annotations

import numpy as np
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.heads import Head
from headcount.story.one_head.fact import Fact, estimate_at, spell_standing, standing, value_at


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_ranks_are_those_of_a_sorted_list(values: list[int], data: st.DataObject) -> None:
    own = data.draw(st.sampled_from(values))
    ordered = sorted(values, reverse=True)
    first, last, count = standing(own, np.array([*values, np.nan]))
    assert ordered[first - 1 : last] == [own] * values.count(own)
    assert count == len(values)
    assert (spell_standing(own, np.array(values)) == f"the largest of {count} heads") == (ordered.count(own) == first == 1)  # fmt: skip # noqa: E501


def test_values_by_name_and_none_outside() -> None:
    array = xr.DataArray(np.arange(12.0).reshape(2, 2, 3), dims=("stack", "layer", "head"))
    array = array.assign_coords(stack=["decoder", "cross"])
    assert value_at(array, Head("cross", 1, 2)) == 11
    assert value_at(array.transpose("head", "stack", "layer"), Head("cross", 1, 2)) == 11
    assert value_at(array.isel(head=0, drop=True), Head("cross", 1, 2)) == 9  # of layers
    for outside in (Head("encoder", 0, 0), Head("cross", 2, 0), Head("cross", 0, 3)):
        assert np.isnan(value_at(array, outside))
    assert np.isnan(estimate_at(xr.Dataset({"a": array}), "a", Head("cross", 0, 0))[1:]).all()


def test_a_label_stands_before_the_end() -> None:
    assert Fact("It has three:", "measures").labelled("words").sentence == "It has three (words):"
    assert Fact("It has none.", "measures").labelled("").sentence == "It has none."
