"""Does the one word for each head say what the head was built to do?"""

from __future__ import annotations

import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.reporting.view import View, find_layout
from headcount.story.earlier import schemas_of
from headcount.story.roles import MIXED, find_roles
from tests.measures.planted import PAIRS, ROLES, SENTENCES, planted_attention

PLANTED = {
    "previous": "previous token",
    "next": "next token",
    "same": "itself",
    "separator": "[SEP]",
    "first": "[CLS]",
    "uniform": "everything alike",
}
"""What the rule should call the heads that were built so; on pairs, the repeated word too."""


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def named(view: View) -> dict[str, str | None]:
    roles, ranks = find_roles(view.of("measures"), view.by_head)
    kinds = list(ranks)
    assert len(roles) == view.layout.count
    assert set(range(len(kinds))) == {role for role in roles if role is not None}, "no kind without a head"
    return {
        view.layout.spell(head): None if role is None else kinds[role]
        for head, role in zip(view.layout, roles, strict=True)
    }


def measures(*only: str, pairs: bool = True) -> dict[str, xr.Dataset]:
    model, tokenizer = planted_attention()
    data = pd.DataFrame(PAIRS, columns=["first", "second"]) if pairs else pd.DataFrame({"first": SENTENCES})
    tree = hc.measure(model, tokenizer, data, text=("first", "second")[: 1 + pairs], only=only)
    return {f"measures/{name}": node.to_dataset() for name, node in tree.children.items()}


ALL = ("position", "special", "repeated", "rare", "entropy", "sentences")


@pytest.fixture(scope="module")
def of_pairs() -> dict[str, xr.Dataset]:
    return measures(*ALL)


def test_planted_heads_of_pairs(of_pairs: dict[str, xr.Dataset]) -> None:
    found = named(view_of(of_pairs))
    for role, expected in PLANTED.items():
        assert found[ROLES[role]] == expected, role
    assert found[ROLES["full stop"]] == "punctuation"
    assert found["L0H1"] == "everything alike", "a head without a role looks at everything alike"


def test_the_planted_head_for_repeated_words(of_pairs: dict[str, xr.Dataset]) -> None:
    """It looks at all occurrences of its word: at itself, which is asked first, and at the one in the other text."""
    assert named(view_of(of_pairs))[ROLES["repeated word"]] == "itself"
    rest = {name: one for name, one in of_pairs.items() if name != "measures/position"}
    assert named(view_of(rest))[ROLES["repeated word"]] == "same word in the other text"


def test_planted_heads_of_sentences() -> None:
    found = named(view_of(measures("position", "special", "entropy", pairs=False)))
    for role, expected in PLANTED.items():
        assert found[ROLES[role]] == expected, role
    assert found[ROLES["full stop"]] in ("punctuation", "[SEP]", MIXED)


def test_only_the_measures_that_are_there_give_roles(of_pairs: dict[str, xr.Dataset]) -> None:
    found = named(view_of({"measures/position": of_pairs["measures/position"]}))
    assert {head: role for head, role in found.items() if role != MIXED} == {
        ROLES["previous"]: "previous token",
        ROLES["next"]: "next token",
        ROLES["same"]: "itself",
        ROLES["repeated word"]: "itself",
    }


def test_without_measures_there_are_no_roles() -> None:
    view = view_of({})
    assert find_roles(view.of("measures"), view.by_head) == ([], {})


def by_rule(**values: dict[str, list[float]]) -> View:
    """Measures with the given numbers for three heads."""
    layout = Layout.even({"encoder": (1, 3)})
    results = {
        f"measures/{measure}": xr.Dataset(
            {
                name: (HEAD_DIMS, by_head(dict(zip(layout, numbers, strict=True)), layout))
                for name, numbers in variables.items()
            },
            coords=head_coords(layout),
        )
        for measure, variables in values.items()
    }
    return View("study", results, (), layout)


NAN = float("nan")


def test_the_first_rule_counts_and_ends_are_inside() -> None:
    view = by_rule(position={"previous": [0.5, 0.49, NAN], "next": [0.9, 0.5, NAN]}, special={"sep": [1.0, 1.0, 0.6]})
    assert list(named(view).values()) == ["previous token", "next token", "[SEP]"]


def test_heads_without_numbers_have_no_role() -> None:
    view = by_rule(position={"previous": [NAN, 0.1, 0.7]})
    assert list(named(view).values()) == [None, MIXED, "previous token"]


def test_a_measure_without_the_variable() -> None:
    """Where no text was a pair, `special` has no [SEP] from [SEP], and so on."""
    view = by_rule(special={"first": [0.9, 0.1, NAN]})
    assert list(named(view).values()) == ["first token (attention sink)", MIXED, None]


def test_every_role_has_a_threshold_and_a_rank_of_its_own(of_pairs: dict[str, xr.Dataset]) -> None:
    schemas = [schema for name, one in of_pairs.items() for schema in schemas_of(name, one).values() if schema.role]
    assert len(schemas) == 11
    assert len({schema.rank for schema in schemas}) == len({schema.role for schema in schemas}) == 11
    assert all(0 < schema.role_from <= 1 for schema in schemas)
