"""Spelling, sets and plans of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.heads import Head, HeadSet, Layout
from headcount.errors import UnknownHead

BERT = Layout.even({"encoder": (12, 12)})
MARIAN = Layout.even({"encoder": (6, 8), "decoder": (6, 8), "cross": (6, 8)})
PRUNED = Layout({"encoder": ((0, 2, 3), (), (1,))})


def some_heads(layout: Layout) -> st.SearchStrategy[HeadSet]:
    return st.frozensets(st.sampled_from(list(layout))).map(lambda heads: HeadSet(heads, layout))


@given(st.sampled_from([BERT, MARIAN, PRUNED]).flatmap(some_heads))
def test_what_is_printed_is_read_back(heads: HeadSet) -> None:
    assert HeadSet.of(str(heads), heads.layout) == heads
    assert HeadSet.of([heads.layout.spell(head) for head in heads], heads.layout) == heads


@given(some_heads(BERT), some_heads(BERT))
def test_set_operations(first: HeadSet, second: HeadSet) -> None:
    assert len(first | second) + len(first & second) == len(first) + len(second)
    assert (first - second) & second == HeadSet(frozenset(), BERT)
    assert ~first | first == HeadSet.all(BERT)
    assert sum(len(numbers) for numbers in first.by_layer().values()) == len(first)


def test_order_is_that_of_the_model() -> None:
    heads = list(HeadSet.of("cross.L0H1 encoder.L5H0 decoder.L2H2 encoder.L0H3", MARIAN))
    assert [head.stack for head in heads] == ["encoder", "encoder", "decoder", "cross"]


def test_names_of_all_kinds() -> None:
    assert len(HeadSet.of("L3", BERT)) == 12
    assert len(HeadSet.of(["L3H0-5", "L3H4"], BERT)) == 6
    assert len(HeadSet.of("encoder.L3H1", BERT)) == 1
    assert len(HeadSet.of(Head("encoder", 3, 1), BERT)) == 1
    assert str(HeadSet.of("L0", PRUNED)) == "L0"
    assert str(HeadSet.of("L0H2-3", PRUNED)) == "L0H2-3"


def test_plan_can_be_printed() -> None:
    plan = HeadSet.of("L0H1-2, L11", BERT).plan()
    assert "L0  heads 1-2  (2 of 12)" in plan
    assert plan.endswith("14 of 144 heads")


@pytest.mark.parametrize(
    ("names", "layout", "expected"),
    [
        ("L12H0", BERT, "L0 to L11"),
        ("L3H12", BERT, "has heads 0-11;"),
        ("L3H", BERT, "expected L3H7"),
        ("l3h7", BERT, "got 'l3h7' for a head; expected L3H7, with capital letters"),
        ("Cross.l3", MARIAN, "expected cross.L3, with"),
        ("L3H5-2", BERT, "has heads 0-11;"),
        ("cross.L3H7", BERT, "no stack 'cross'"),
        ("L3H7", MARIAN, "encoder.L3H7, decoder.L3H7, cross.L3H7"),
        ("cross.L6", MARIAN, "in its cross"),
        ("L0H1", PRUNED, "has heads 0, 2-3;"),
        ([3], BERT, "expected a string"),
    ],
)
def test_a_wrong_name_says_what_is_right(names: object, layout: Layout, expected: str) -> None:
    with pytest.raises(UnknownHead) as caught:
        HeadSet.of(names, layout)  # type: ignore[arg-type]
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_layers_and_heads_as_transformers_4_took_them() -> None:
    assert str(HeadSet.of({3: [1], 0: (2, 0), 5: np.arange(2), 7: []}, BERT)) == "L0H0, L0H2, L3H1, L5H0-1"
    assert str(HeadSet.of({2: {1}}, PRUNED)) == "L2"


@pytest.mark.parametrize(
    ("heads", "layout", "expected"),
    [
        ({"L3": [1]}, BERT, r"got the entry 'L3': \[1\] in a dict of heads; expected a layer and a list"),
        ({"3": [1]}, BERT, "got the entry '3'"),
        ({3: 1}, BERT, "got the entry 3: 1 "),
        ({3: "12"}, BERT, "got the entry 3: '12'"),
        ({3: ["H1"]}, BERT, "got the entry 3"),
        ({3: {1: 2}}, BERT, "got the entry 3"),
        ({True: [1]}, BERT, "got the entry True"),
        ({"encoder": {3: [1]}}, MARIAN, "got the entry 'encoder'"),
        ({3: [1]}, MARIAN, r"several stacks; expected names such as 'encoder\.L3H1'"),
        ({12: [1]}, BERT, "layers L0 to L11"),
        ({3: [12]}, BERT, "heads are counted from 0"),
        ({-1: [0]}, BERT, "got 'L-1H0'"),
    ],
)
def test_other_dicts_are_refused(heads: Any, layout: Layout, expected: str) -> None:
    with pytest.raises(UnknownHead, match=expected) as error:
        HeadSet.of(heads, layout)
    assert "\n" not in str(error.value)
