"""Are the roles of a head what it was built to do, and nothing that chance gives too?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.core.schema import STRENGTH, Schema
from headcount.reporting.colourings import find_colourings
from headcount.reporting.view import View, find_layout
from headcount.story.earlier import schemas_of
from headcount.story.role_names import BROAD, COLOURS
from headcount.story.roles import LEAST, Role, find_examples, find_roles, role_tests
from tests.measures.planted import PAIRS, ROLES, SENTENCES, planted_attention
from tests.measures.planted_decoder import planted_decoder

PLANTED = {
    "previous": "previous token",
    "next": "next token",
    "same": "the token itself",
    "separator": "[SEP]",
    "first": "[CLS]",
    "uniform": BROAD,
}
"""The strongest role of the heads that were built so."""
ALL = ("position", "special", "repeated", "rare", "entropy", "sentences")
NAN = float("nan")


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def roles_of(view: View) -> dict[str, list[Role] | None]:
    found = find_roles(view.of("measures"), view.by_head)
    assert len(found) == view.layout.count
    return {view.layout.spell(head): roles for head, roles in zip(view.layout, found, strict=True)}


def named(view: View) -> dict[str, list[str] | None]:
    return {head: None if roles is None else [role.name for role in roles] for head, roles in roles_of(view).items()}


def measures(*only: str, pairs: bool = True) -> dict[str, xr.Dataset]:
    model, tokenizer = planted_attention()
    data = pd.DataFrame(PAIRS, columns=["first", "second"]) if pairs else pd.DataFrame({"first": SENTENCES})
    tree = hc.measure(model, tokenizer, data, text=("first", "second")[: 1 + pairs], only=only)
    return {f"measures/{name}": node.to_dataset() for name, node in tree.children.items()}


@pytest.fixture(scope="module")
def of_pairs() -> dict[str, xr.Dataset]:
    return measures(*ALL)


@pytest.fixture(scope="module")
def of_sentences() -> dict[str, xr.Dataset]:
    return measures("position", "special", "entropy", pairs=False)


def test_planted_heads(of_pairs: dict[str, xr.Dataset], of_sentences: dict[str, xr.Dataset]) -> None:
    for results in (of_pairs, of_sentences):
        found = roles_of(view_of(results))
        for role, expected in PLANTED.items():
            strongest = (found[ROLES[role]] or [])[0]
            assert strongest.name == expected, role
            assert strongest.strength == pytest.approx(1, abs=1e-3)
            assert strongest.low <= strongest.strength <= strongest.high


def test_a_head_can_have_several_roles(of_pairs: dict[str, xr.Dataset]) -> None:
    """The head for repeated words looks at all occurrences of its word: at itself and at the one in the other text."""
    found = roles_of(view_of(of_pairs))[ROLES["repeated word"]] or []
    assert {"the token itself", "same word in the other text"} <= {role.name for role in found}
    strengths = [role.strength for role in found]
    assert strengths == sorted(strengths, reverse=True)


def test_a_uniform_head_does_nothing_in_particular(of_pairs: dict[str, xr.Dataset]) -> None:
    for head in (ROLES["uniform"], "L0H1"):
        assert named(view_of(of_pairs))[head] == [BROAD]
    without = {name: one for name, one in of_pairs.items() if name != "measures/entropy"}
    assert named(view_of(without))[ROLES["uniform"]] == []


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=6))
def test_uniform_heads_are_at_chance_in_texts_of_any_length(lengths: list[int]) -> None:
    """With and without a causal mask, in batches with padding: the excess over chance is exactly nothing."""
    texts = pd.DataFrame({"text": [" ".join("abcdefgh"[place % 8] for place in range(length)) for length in lengths]})
    words = pd.DataFrame(
        {"text": [" ".join(["dog", "the", "cat", "saw"][place % 4] for place in range(n)) for n in lengths]}
    )
    for (model, tokenizer), data, head in ((planted_decoder(), texts, (0, 0)), (planted_attention(), words, (0, 1))):
        tree = hc.measure(model, tokenizer, data, only=("position", "special"))
        for test in role_tests({name: node.to_dataset() for name, node in tree.children.items()}):
            strength = test.strength.values[0][head]
            assert np.isnan(strength) or abs(strength) < 1e-4, test.name
            assert test.has.values[0][head] != 1


def test_what_a_causal_mask_forbids_is_never_a_role() -> None:
    texts = pd.DataFrame({"text": ["a b c d a b", "b c a e f", "d a b c"]})
    found = hc.measure(*planted_decoder(), texts, only="position")["position"]
    assert (found["next_chance"] == 0).all()
    assert (found["previous_chance"] > 0).all()
    tests = {test.name: test for test in role_tests({"position": found.to_dataset()})}
    assert (tests["next token"].has == 0).all()


def test_the_first_token_is_not_said_beside_cls(of_pairs: dict[str, xr.Dataset]) -> None:
    assert named(view_of(of_pairs))[ROLES["first"]] == ["[CLS]"]


def test_only_the_measures_that_are_there_give_roles(of_pairs: dict[str, xr.Dataset]) -> None:
    found = named(view_of({"measures/position": of_pairs["measures/position"]}))
    assert {head: (roles or [""])[0] for head, roles in found.items() if roles} == {
        ROLES["previous"]: "previous token",
        ROLES["next"]: "next token",
        ROLES["same"]: "the token itself",
        ROLES["repeated word"]: "the token itself",
    }


def test_without_measures_there_are_no_roles() -> None:
    view = view_of({})
    assert find_roles(view.of("measures"), view.by_head) == []
    assert find_examples(view.of("measures"), view.by_head) == []


def by_rule(**values: dict[str, list[float]]) -> View:
    """Measures with the given numbers for three heads, as a study from before chance levels has them."""
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


def test_earlier_studies_have_the_roles_of_their_thresholds() -> None:
    view = by_rule(position={"previous": [0.5, 0.49, NAN], "next": [0.9, 0.5, NAN]}, special={"sep": [1.0, 1.0, 0.6]})
    assert list(named(view).values()) == [
        ["[SEP]", "next token", "previous token"],
        ["[SEP]", "next token"],
        ["[SEP]"],
    ]


def test_heads_without_numbers_have_no_role() -> None:
    view = by_rule(position={"previous": [NAN, 0.1, 0.7]})
    assert list(named(view).values()) == [None, [], ["previous token"]]


def with_strengths(**roles: list[tuple[float, float, float, float]]) -> View:
    """Heads with the given strengths, ends of intervals and p-values of each role."""
    count = len(next(iter(roles.values())))
    layout = Layout.even({"encoder": (1, count)})
    arrays = {}
    for rank, (name, rows) in enumerate(roles.items()):
        parts = zip(("", "_low", "_high", "_p"), zip(*rows, strict=True), strict=True)
        arrays[name] = (
            HEAD_DIMS,
            np.full((1, 1, count), 0.5),
            Schema(name, role=name, does=f"Does {name}", rank=rank).attributes(),
        )
        arrays |= {f"{name}{STRENGTH}{end}": (HEAD_DIMS, np.array([[part]])) for end, part in parts}
    return View("study", {"measures/mine": xr.Dataset(arrays, coords=head_coords(layout))}, (), layout)


CLEAR, WEAK, UNSURE, WIDE = (
    (0.4, 0.3, 0.5, 1e-6),
    (LEAST / 2, 0.04, 0.06, 1e-9),
    (0.4, 0.3, 0.5, 0.2),
    (0.4, -0.1, 0.9, 1e-6),
)


def test_a_role_is_significant_and_not_trivially_small() -> None:
    view = with_strengths(mine=[CLEAR, WEAK, UNSURE, WIDE, (NAN, NAN, NAN, NAN)])
    assert list(named(view).values()) == [["mine"], [], [], [], None]


def test_p_is_corrected_for_all_heads_and_roles() -> None:
    """p = 0.03 is significant alone, not among 40 tests."""
    once, chance = (0.4, 0.3, 0.5, 0.03), (0.4, 0.3, 0.5, 0.9)
    assert named(with_strengths(mine=[once]))["L0H0"] == ["mine"]
    assert named(with_strengths(mine=[once, *[chance] * 19], other=[chance] * 20))["L0H0"] == []


def test_examples_are_the_strongest_heads_each_once() -> None:
    view = with_strengths(
        first=[(0.9, 0.8, 1, 0), (0.5, 0.4, 0.6, 0), WEAK],
        second=[(0.8, 0.7, 0.9, 0), (0.3, 0.2, 0.4, 0), WEAK],
        third=[UNSURE, UNSURE, UNSURE],
    )
    assert find_examples(view.of("measures"), view.by_head) == [
        {"title": "Does first", "role": "first", "head": 0, "strength": 0.9, "low": 0.8, "high": 1},
        {"title": "Does second", "role": "second", "head": 1, "strength": 0.3, "low": 0.2, "high": 0.4},
    ]


def test_the_page_has_all_roles_of_a_head() -> None:
    view = with_strengths(**{"[SEP]": [CLEAR, WEAK], "the token itself": [(0.6, 0.5, 0.7, 0), WEAK]})
    told = next(each for each in find_colourings(view) if each["id"] == "roles")
    assert told["names"] == ["the token itself", "no clear role"]
    assert told["values"] == [0, told["none"]]
    assert told["also"] == [[["the token itself", 0.6, 0.5, 0.7], ["[SEP]", 0.4, 0.3, 0.5]], []]
    assert told["colours"][0] == COLOURS["the token itself"]


def test_every_role_has_chance_a_title_and_a_colour_of_its_own(of_pairs: dict[str, xr.Dataset]) -> None:
    schemas = [schema for name, one in of_pairs.items() for schema in schemas_of(name, one).values() if schema.role]
    assert len(schemas) == 11
    assert {schema.role for schema in schemas} <= set(COLOURS)
    assert len({schema.role for schema in schemas}) == len({COLOURS[schema.role] for schema in schemas}) == 11
    assert all(schema.does and schema.baseline is not None for schema in schemas)
