"""Do the sentences on what a head looks at name what was planted, and nothing that its numbers refute?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.core.claims import stands_out
from headcount.core.heads import Head
from headcount.reporting.view import View, find_layout
from headcount.story.one_head.looks import alike_facts, pattern_facts, role_facts, standing_out_facts
from tests.measures.planted import PAIRS, ROLES, planted_attention


@pytest.fixture(scope="module")
def view() -> View:
    pairs = pd.DataFrame(PAIRS, columns=["first", "second"])
    measured = hc.measure(
        *planted_attention(), pairs, text=("first", "second"), only=("position", "special", "patterns", "distances")
    )
    results = {f"measures/{node.name}": node.to_dataset() for node in measured.children.values()}
    return View("study", results, (), find_layout(results))


def at(role: str) -> tuple[int, int]:
    return int(ROLES[role][1]), int(ROLES[role][3])


def planted_head(role: str) -> Head:
    return Head("encoder", *at(role))


def test_the_planted_role_is_said(view: View) -> None:
    measures = view.of("measures")
    for role, said in (("previous", "previous token"), ("next", "next token"), ("separator", "[SEP]")):
        number = list(view.layout).index(planted_head(role))
        (fact,) = role_facts(measures, view.by_head, number)
        assert f": {said}, strength " in fact.sentence
        assert fact.sentence.endswith(" (0: chance, 1: nothing else).")
        assert fact.numbers[f"{said} low"] <= fact.numbers[said]  # type: ignore[operator]


def test_what_stands_out_is_what_was_planted(view: View) -> None:
    measures = view.of("measures")
    heading, *listed = standing_out_facts(measures, planted_head("previous"))
    assert heading.sentence.startswith("It stands out by ")
    first = next(fact for fact in listed if fact.sentence.startswith("Attention to the previous token: "))
    values = measures["position"]["previous"].values.ravel()
    own = float(measures["position"]["previous"].values[(0, *at("previous"))])
    assert first.numbers["value"] == own
    assert first.numbers["rank"] == 1 + (values > own).sum()
    assert first.numbers["median"] == pytest.approx(np.nanmedian(values), abs=1e-4)


def test_every_listed_measure_passes_the_definition(view: View) -> None:
    for head in view.layout:
        for fact in standing_out_facts(view.of("measures"), head):
            if fact.listed:
                assert fact.numbers["low"] > fact.numbers["median"]  # type: ignore[operator]
                assert fact.numbers["last_rank"] <= max(1, fact.numbers["heads"] // 20)  # type: ignore[operator]
                assert ("the largest" in fact.sentence) == (fact.numbers["last_rank"] == 1)
            else:
                assert str(fact.numbers["asked"]) in fact.sentence


def test_nothing_stands_out_without_an_interval() -> None:
    assert stands_out(0.9, 0.8, np.array([0.1, 0.2, 0.9, np.nan]))
    assert not stands_out(0.9, np.nan, np.array([0.1, 0.2, 0.9]))
    assert not stands_out(0.9, 0.8, np.array([0.9, 0.2, 0.9]))  # two share the first rank
    assert not stands_out(0.9, 0.8, np.array([0.9]))


def test_the_pattern_and_its_share(view: View) -> None:
    patterns = view.of("measures")["patterns"]
    (fact,) = pattern_facts("patterns", patterns, planted_head("separator"))
    assert fact.numbers["pattern"] == "vertical"
    number = list(patterns["pattern"].values).index("vertical")
    share = float(patterns["share"].values[(0, *at("separator"), number)])
    assert fact.numbers["value"] == pytest.approx(100 * share)
    gone = patterns.assign(mostly=patterns["mostly"] * np.nan)
    assert pattern_facts("patterns", gone, planted_head("separator")) == []


def test_the_nearest_head_is_the_nearest(view: View) -> None:
    distances = view.of("measures")["distances"]
    (fact,) = alike_facts("distances", distances, planted_head("same"))
    row = distances["distance"].values[(0, *at("same"))].copy()
    row[at("same")] = np.inf
    assert fact.numbers["distance"] == np.nanmin(row)
    nearest = "L{}H{}".format(*np.unravel_index(np.nanargmin(row), row.shape))
    assert fact.sentence.startswith(f"On these texts {nearest} attends most like it: ")


def test_nothing_is_said_of_what_was_not_asked() -> None:
    empty: dict[str, xr.Dataset] = {}
    assert role_facts(empty, lambda array: [], 0) == []
    assert standing_out_facts(empty, Head("encoder", 0, 0)) == []
