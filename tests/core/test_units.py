"""The names of units; what is done with them in a model: tests/contracts/test_units.py."""

from __future__ import annotations

import pytest

from headcount.core.heads import HeadSet, Layout
from headcount.core.units import EXPERTS, Selection, UnitLayout, UnitSet
from headcount.errors import UnknownHead

LAYOUT = UnitLayout({"encoder": ((0, 1, 2, 3), (0, 3)), "decoder": ((0, 1, 2), ())})
HEADS = Layout.even({"encoder": (2, 2), "decoder": (2, 2), "cross": (2, 2)})


def test_a_layout_counts_what_is_left() -> None:
    assert (LAYOUT.count, LAYOUT.layers("decoder"), LAYOUT.width("encoder"), LAYOUT.width("decoder")) == (9, 2, 4, 3)
    assert LAYOUT.spell_layer("decoder", 1) == "decoder.L1U"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("L0U1", "several stacks; write one of encoder.L0U1, decoder.L0U1"),
        ("encoder.L1U1", "encoder.L1U has units 0, 3; units are counted from 0"),
        ("decoder.L1U", "decoder.L1U has no units"),
        ("decoder.L2U", "layers L0 to L1 in its decoder"),
        ("cross.L0U1", "no feed-forward layers in a stack 'cross'; it has encoder, decoder"),
    ],
)
def test_names_that_mean_nothing(text: str, message: str) -> None:
    with pytest.raises(UnknownHead, match=message):
        LAYOUT.find(text)


def test_sets_are_joined_and_taken_apart() -> None:
    some, others = UnitSet.of(["encoder.L0U0-1"], LAYOUT), UnitSet.of(["encoder.L0U1", "decoder.L0U"], LAYOUT)
    assert str(some | others) == "encoder.L0U0-1, decoder.L0U"
    assert str(some - others) == "encoder.L0U0"
    assert not UnitSet.of([], LAYOUT)
    assert len(~some) == LAYOUT.count - 2


def test_the_same_units_of_another_layout() -> None:
    """A set names units by their numbers: all of a layer that has lost some are not all of the whole layer."""
    whole = UnitLayout({"encoder": ((0, 1, 2, 3),)})
    cut = UnitSet.all(UnitLayout({"encoder": ((0, 3),)}))
    assert str(UnitSet.of(cut, whole)) == "L0U0, L0U3"


def test_selections_from_everything_that_names_heads() -> None:
    for names in ("encoder.L0H1 decoder.L0U2", ["encoder.L0H1", "decoder.L0U2"]):
        assert str(Selection.of(names, HEADS, LAYOUT)) == "encoder.L0H1, decoder.L0U2"
    heads = HeadSet.of("cross.L1", HEADS)
    assert str(Selection.of(heads, HEADS, LAYOUT)) == "cross.L1"
    both = Selection.of(heads, HEADS, LAYOUT) | Selection.of("encoder.L1U", HEADS, LAYOUT)
    assert str(both) == "cross.L1, encoder.L1U"
    assert str(Selection.of(both, HEADS, LAYOUT)) == str(both)
    assert Selection.of(both.units, HEADS, LAYOUT).units == both.units


def test_a_model_without_a_record_says_so() -> None:
    with pytest.raises(UnknownHead, match="mixtures of experts"):
        UnitLayout({}, EXPERTS).find("L0U1")
