"""All measures can be named, say what they are, and agree with themselves about what they give."""

from __future__ import annotations

import re

import pytest

from headcount.data.kinds.masked_lm import MaskedLM
from headcount.errors import InvalidOption
from headcount.measures.catalogue import MEASURES, choose_measures
from headcount.measures.contract import Setting

PLAIN = Setting(("punctuation", "first", "special", "other"), False, False, None, {"decoder": 2}, 4)
RICH = Setting(
    (
        "punctuation",
        "first",
        "cls",
        "sep",
        "special",
        "other",
        "text 1",
        "text 2",
        "noun",
        "verb",
        "completion",
        "needle",
    ),
    True,
    True,
    MaskedLM(),
    {"decoder": 2},
    4,
)


def test_names() -> None:
    assert " ".join(MEASURES) == (
        "position special entropy spread sentences patterns features links repeated rare induction duplicate retrieval "
        "contribution copying direct_effect gradients distances"
    )
    assert all(name == measure.name for name, measure in MEASURES.items())
    assert all(re.fullmatch("[a-z_]+", name) for name in MEASURES)  # they become groups of a study


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_says_what_it_is(name: str) -> None:
    measure = MEASURES[name]
    for line in (measure.summary, measure.paper):
        assert line.strip() == line
        assert line
        assert "\n" not in line
    assert len(measure.summary) < 120
    assert re.search(
        r"(Clark|Kovaleva|Voita|Michel|Kobayashi|Olsson|Wang|Wu|Nostalgebraist|Elhage) 20\d\d", measure.paper
    )
    assert measure.kind in {"layers", "gradients", "maps"}
    assert type(measure).__doc__


@pytest.mark.parametrize("name", MEASURES)
def test_every_dimension_has_coordinates(name: str) -> None:
    measure = MEASURES[name]
    assert measure.lacking(RICH) is None
    variables, coords = measure.variables(RICH), measure.coords(RICH)
    assert variables
    assert {dim for dims in variables.values() for dim in dims} == set(coords)
    assert all(len(values) and len(set(values)) == len(values) for values in coords.values())


def test_what_makes_no_sense_says_why() -> None:
    reasons = {name: measure.lacking(PLAIN) for name, measure in MEASURES.items()}
    lacking = {name for name, reason in reasons.items() if reason}
    assert lacking == {"sentences", "features", "links", "repeated", "retrieval", "gradients"}
    assert all("\n" not in reason for reason in reasons.values() if reason)
    assert not {"cls", "sep"} & set(MEASURES["special"].variables(PLAIN))


def test_all_of_them_or_some_in_the_order_of_their_names() -> None:
    assert choose_measures(None) == list(MEASURES.values())
    for only in (
        ["spread", "position"],
        ["spread,position"],
        [" spread , position,"],
        ("spread", "position"),
    ):
        assert [measure.name for measure in choose_measures(only)] == ["spread", "position"]
    assert [measure.name for measure in choose_measures(name for name in ("links",))] == ["links"]
    with pytest.raises(InvalidOption, match="got spread twice in only="):
        choose_measures(["spread,position", "spread"])


@pytest.mark.parametrize(
    ("only", "got"),
    [
        (["positions"], "'positions'"),
        (["position", "x y"], "'x y'"),
        (["Position"], "'Position'"),
        ([], "none"),
        ([""], "none"),
        ([" , "], "none"),
    ],
)
def test_names_that_are_none(only: list[str], got: str) -> None:
    with pytest.raises(InvalidOption) as found:
        choose_measures(only)
    message = str(found.value)
    assert got in message
    assert all(name in message for name in MEASURES)
    assert "\n" not in message
