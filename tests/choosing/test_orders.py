"""Which head goes first: by values, at random, from a file; what stays; how many at each step?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headcount as hc
from headcount.choosing.orders import (
    ORDERS,
    Source,
    Wanted,
    at_random,
    by_values,
    find_orders,
    read_order,
    removals,
    spare,
)
from headcount.core.heads import Head, Layout
from headcount.core.results import by_head
from headcount.data.tasks import GLUE
from headcount.errors import DataProblem, HeadcountError, InvalidOption, UnknownHead
from tests import planted
from tests.pruning import planted as parts

BERT = Layout.even({"encoder": (3, 4)})
MARIAN = Layout.even({"encoder": (2, 4), "decoder": (3, 2), "cross": (3, 2)})
PRUNED = Layout({"encoder": ((0, 2, 3), (), (1,))})
LAYOUTS = st.sampled_from([BERT, MARIAN, PRUNED])


@given(LAYOUTS, st.randoms(use_true_random=False))
def test_the_smallest_value_comes_first(layout: Layout, random: object) -> None:
    heads = list(layout)
    random.shuffle(heads)  # type: ignore[attr-defined]
    values = by_head({head: float(place) for place, head in enumerate(heads)}, layout)
    assert by_values(values, layout) == tuple(heads)


def test_equal_values_go_by_their_place() -> None:
    order = by_values(by_head(dict.fromkeys(MARIAN, 1.0), MARIAN), MARIAN)
    assert order == tuple(MARIAN)


def test_only_one_stack() -> None:
    values = by_head({head: -head.layer - head.head / 10 for head in MARIAN}, MARIAN)
    order = by_values(values, MARIAN, "cross")
    assert [str(head) for head in order] == [
        "cross.L2H1",
        "cross.L2H0",
        "cross.L1H1",
        "cross.L1H0",
        "cross.L0H1",
        "cross.L0H0",
    ]
    assert {head.stack for head in at_random(MARIAN, 0, "decoder")} == {"decoder"}


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_head_without_a_value_is_named(lost: float) -> None:
    values = by_head(dict.fromkeys(BERT, 1.0) | {Head("encoder", 1, 2): lost}, BERT)
    with pytest.raises(InvalidOption, match="L1H2 has no value"):
        by_values(values, BERT)


def test_a_stack_that_the_model_has_not() -> None:
    for order in (
        lambda: by_values(by_head(dict.fromkeys(BERT, 1.0), BERT), BERT, "cross"),
        lambda: at_random(BERT, 0, "cross"),
    ):
        with pytest.raises(InvalidOption, match="'cross'; the model has encoder"):
            order()


@given(LAYOUTS, st.integers(0, 1000))
def test_a_random_order_has_every_head_once(layout: Layout, seed: int) -> None:
    assert Counter(at_random(layout, seed)) == Counter(layout)
    assert at_random(layout, seed) == at_random(layout, seed)


def test_seeds_differ() -> None:
    assert len({at_random(BERT, seed) for seed in range(20)}) == 20


def write(folder: Path, text: str) -> Path:
    (folder / "order.txt").write_text(text, encoding="utf-8")
    return folder / "order.txt"


def test_an_order_is_read_back(tmp_path: Path) -> None:
    for layout in (BERT, MARIAN, PRUNED):
        order = at_random(layout, 3)
        names = [layout.spell(head) for head in order]
        for between in (" ", ",", "\n", ", ", ",\n\n  "):
            assert read_order(write(tmp_path, between.join(names) + "\n"), layout) == order
    assert read_order(write(tmp_path, "L2H0-3 L0 L1H3,L1H0-2"), BERT)[:5] == (
        *(Head("encoder", 2, head) for head in range(4)),
        Head("encoder", 0, 0),
    )


def test_an_order_of_one_stack_may_leave_out_the_others(tmp_path: Path) -> None:
    names = [str(head) for head in at_random(MARIAN, 1, "cross")]
    order = read_order(write(tmp_path, " ".join(names)), MARIAN, "cross")
    assert [str(head) for head in order] == names
    more = read_order(write(tmp_path, " ".join(["encoder.L0H1", *names])), MARIAN, "cross")
    assert more == order
    with pytest.raises(DataProblem, match=r"no encoder.L0H0 \(14 missing\)"):
        read_order(write(tmp_path, " ".join(names)), MARIAN)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("L0 L1 L2H0-2", DataProblem, r"has no L2H3 \(1 missing\); expected every head"),
        ("", DataProblem, r"has no L0H0 \(12 missing\)"),
        ("L0 L1 L2 L1H2", DataProblem, "has L1H2 twice; expected every head once"),
        ("L0 L1 L2 L7H0", UnknownHead, "'L7H0', but the model has layers L0 to L2"),
        ("L0 L1 L2 L0H9", UnknownHead, "'L0H9'"),
        ("L0 L1 L2 cross.L0H0", UnknownHead, "no stack 'cross'"),
        ("first L0", UnknownHead, "'first' for a head"),
    ],
)
def test_bad_order_files(tmp_path: Path, text: str, kind: type[HeadcountError], expected: str) -> None:
    with pytest.raises(kind, match=expected) as caught:
        read_order(write(tmp_path, text), BERT)
    assert "\n" not in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere.txt", tmp_path):
        with pytest.raises(DataProblem, match="there is no file"):
            read_order(place, BERT)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "order.bin").write_bytes(b"\x80\xff\x00\x01")
    with pytest.raises(HeadcountError):
        read_order(tmp_path / "order.bin", BERT)


@given(LAYOUTS, st.integers(0, 100), st.integers(0, 5))
def test_every_layer_keeps_its_heads(layout: Layout, seed: int, at_least: int) -> None:
    order = at_random(layout, seed)
    gone = spare(order, layout, at_least)
    assert list(gone) == [head for head in order if head in gone], "in the same order"
    had = Counter((head.stack, head.layer) for head in layout)
    left = had - Counter((head.stack, head.layer) for head in gone)
    for place, count in had.items():
        assert left[place] == min(count, at_least)
    if at_least == 0:
        assert gone == order


def test_the_last_ones_of_a_layer_stay() -> None:
    order = [Head("encoder", 0, head) for head in (2, 0, 3, 1)]
    assert [head.head for head in spare(order, BERT, 1)] == [2, 0, 3]
    assert [head.head for head in spare(order[:2], BERT, 3)] == [2]


@given(st.integers(1, 1000), st.integers(1, 200))
def test_steps_grow_to_all_heads(total: int, steps: int) -> None:
    counts = removals(total, steps)
    assert counts == sorted(set(counts))
    assert 1 <= counts[0] <= counts[-1] == total
    assert len(counts) == min(steps, total)
    widths = np.diff([0, *counts])
    assert widths.max() - widths.min() <= 1, "steps of like size"


@pytest.mark.parametrize("steps", [0, -3])
def test_at_least_one_step(steps: int) -> None:
    with pytest.raises(InvalidOption, match="at least 1"):
        removals(12, steps)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    model = parts.classifier(parts.GRADED)
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))
    shared = {"task": GLUE["sst2"], "seed": 0, "max_length": None, "out": None}
    layout = hc.read_anatomy(model).layout
    return Source(model, tokenizer, parts.texts(24), layout, None, shared, None, lambda *_: None)


def spelled(source: Source, order: Any) -> list[str]:
    return [source.layout.spell(head) for head in order]


@pytest.mark.parametrize("name", ORDERS)
def test_every_head_once(source: Source, name: str) -> None:
    found, _ = find_orders(source, Wanted((name,), randoms=2, anew=0, normed=True))
    assert len(found) == (2 if name == "random" else 1)
    for order in found.values():
        assert sorted(order) == sorted(source.layout)


def test_the_planted_order(source: Source) -> None:
    """Importance sees how much each head carries; the strongest goes last, computed once or anew."""
    for anew in (0, 4):
        found, estimates = find_orders(source, Wanted(("importance",), randoms=0, anew=anew, normed=False))
        assert spelled(source, found["importance"])[-1] == "L0H1"
        assert estimates is not None
    once, _ = find_orders(source, Wanted(("importance",), randoms=0, anew=0, normed=False))
    assert spelled(source, once["importance"]) == parts.GRADED_ORDER


def test_a_file(source: Source, tmp_path: Path) -> None:
    (tmp_path / "order").write_text("\n".join(reversed(parts.GRADED_ORDER)), encoding="utf-8")
    found, estimates = find_orders(source, Wanted((f"file:{tmp_path / 'order'}",), 0, 0, True))
    assert [spelled(source, order) for order in found.values()] == [parts.GRADED_ORDER[::-1]]
    assert estimates is None
