"""Are the options of a block those that were asked for, and does a selection name what its indices stand for?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.budgets.blocks import grouped_costs, read_blocks, removed_of, selection_of
from headcount.errors import InvalidOption
from tests.budgets import planted
from tests.pruning import planted_groups as groups


def test_options_and_additive_costs() -> None:
    model = planted.anatomy(10)
    blocks = read_blocks(model, "both", planted.costs(model), multiple=4, at_least=1)
    assert [block.key for block in blocks] == [
        ("encoder", 0),
        ("encoder", 1),
        ("encoder.units", 0),
        ("encoder.units", 1),
    ]
    assert [block.options for block in blocks[1:3]] == [(1, 2, 3, 4), (0, 4, 8, 10)]
    np.testing.assert_array_equal(blocks[0].costs, [3, 6, 9, 12])
    np.testing.assert_array_equal(blocks[2].costs, [0, 4, 8, 10])
    assert [block.key[0] for block in read_blocks(model, "heads", planted.costs(model))] == ["encoder"] * 2
    units = read_blocks(model, "units", planted.costs(model), multiple=4, at_least_units=5)
    assert [block.options for block in units] == [(8, 10)] * 2
    assert read_blocks(model, "units", planted.costs(model), at_least_units=99)[0].options == (10,)


def test_a_table_of_costs() -> None:
    model = planted.anatomy(6)
    table = np.array([0, 5, 5, 5, 7, 7, 8.0])
    block = read_blocks(model, "units", planted.costs(model, unit=table), multiple=4)[0]
    np.testing.assert_array_equal(block.costs, [0, 7, 8])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"what": "layers"}, "expected one of heads, units, both"),
        ({"multiple": 0}, "multiple=0"),
        ({"at_least": -1}, "at_least=-1"),
        ({"costs": np.ones(3)}, r"costs of shape \[3\] for a block of 4"),
        ({"costs": np.nan}, "finite"),
    ],
)
def test_what_is_refused(options: dict[str, Any], expected: str) -> None:
    model = planted.anatomy()
    given_costs = planted.costs(model, options.pop("costs", 1.0))
    with pytest.raises(InvalidOption, match=expected):
        read_blocks(model, options.pop("what", "both"), given_costs, **options)


def test_groups_go_together() -> None:
    model = hc.read_anatomy(groups.llama())
    blocks = read_blocks(model, "heads", planted.costs(model), by="group")
    assert [block.options for block in blocks] == [(0, 2, 4)] * 3
    assert [block.bundles for block in blocks] == [((0, 1), (2, 3))] * 3
    np.testing.assert_array_equal(blocks[0].pooled(np.array([1, 10, 100, 1000])), [11, 1100])


@given(st.integers(1, 4), st.integers(1, 4), st.randoms(use_true_random=False))
def test_costs_of_groups_are_an_upper_bound(groups: int, size: int, random: Any) -> None:
    count = groups * size
    for kept in range(count + 1):
        chosen = random.sample(range(count), kept)
        true = 2 * kept + 7 * len({head // size for head in chosen})
        assert true <= grouped_costs(2, 7, groups, count)[kept]
    spread = [head * size % count + head // groups for head in range(count)]
    for kept in range(count + 1):
        true = 2 * kept + 7 * len({head // size for head in spread[:kept]})
        assert true == grouped_costs(2, 7, groups, count)[kept], "some choice costs as much"


def test_a_selection_and_back() -> None:
    model = planted.anatomy()
    blocks = read_blocks(model, "both", planted.costs(model))
    removed = [(blocks[1], [0, 3]), (blocks[2], [1, 2, 5])]
    selection = selection_of(model, removed)
    assert str(selection) == "L1H0, L1H3, L0U1-2, L0U5"
    for block, indices in removed:
        assert np.flatnonzero(removed_of(selection, block)).tolist() == indices
    assert not removed_of(selection, blocks[0]).any()


def test_after_a_cut_indices_are_those_of_what_is_left() -> None:
    pruned = hc.prune(groups.llama(), ["L0H0", "L0U0-2"])
    model = hc.read_anatomy(pruned)
    blocks = {block.key: block for block in read_blocks(model, "both", planted.costs(model))}
    assert str(selection_of(model, [(blocks["decoder", 0], [0]), (blocks["decoder.units", 0], [0])])) == "L0H1, L0U3"
