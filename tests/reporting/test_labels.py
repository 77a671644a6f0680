"""Every number that a measurement gives has a name, a unit and a meaning that a person can read."""

from __future__ import annotations

import pandas as pd
import pytest

from headcount.choosing.importance import CHOICES as ESTIMATORS
from headcount.core.results import HEAD_DIMS
from headcount.measures.catalogue import MEASURES
from headcount.measures.measure import measure
from headcount.reporting.labels import CHOICES, SIGNED, Label, find_label
from tests.measures import cases
from tests.measures.planted import PAIRS, planted_attention

INNER = {
    ("position", "attention"),
    ("position", "largest_at"),
    ("distances", "distance"),
    ("distances", "x"),
    ("distances", "y"),
    ("patterns", "mostly"),
}
"""Those that are drawn otherwise than as a number a head."""


def fallback(name: str, variable: str) -> bool:
    return find_label(name, variable).title == f"{name}: {variable.replace('_', ' ')}"


@pytest.fixture(scope="module")
def variables() -> set[tuple[str, str]]:
    """What the measures really give, for pairs and for trees."""
    model, tokenizer = planted_attention()
    pairs = pd.DataFrame(PAIRS[:3], columns=["first", "second"])
    trees = cases.table([cases.sentence(one) for one in cases.TREES[:3]])
    found = set()
    for tree in (
        measure(model, tokenizer, pairs, text=("first", "second")),
        measure(model, tokenizer, trees, only=("features", "links")),
    ):
        for name, node in tree.children.items():
            found |= {
                (name, str(key))
                for key, array in node.data_vars.items()
                if array.dims[:3] == HEAD_DIMS and not str(key).endswith(("_low", "_high"))
            }
    assert {name for name, _ in found} == set(MEASURES)
    return found - INNER


def test_every_amount_has_a_label(variables: set[tuple[str, str]]) -> None:
    amounts = {pair for pair in variables if pair not in CHOICES and pair[0] != "gradients"}
    assert not {pair for pair in amounts if fallback(*pair)}
    assert all(find_label(*pair).unit and find_label(*pair).says for pair in amounts)


def test_every_number_has_a_label_of_its_own(variables: set[tuple[str, str]]) -> None:
    assert not {pair for pair in variables if fallback(*pair)}


def test_labels_differ(variables: set[tuple[str, str]]) -> None:
    """Two numbers of the same title could not be told apart in a list."""
    alone = {pair for pair in variables if pair[0] not in ("features", "links")}
    titles = [find_label(*pair).title for pair in sorted(alone)]
    assert len(titles) == len(set(titles))


def test_every_estimator_has_a_label() -> None:
    labels = [find_label("importance", name) for name in ESTIMATORS]
    assert all(label.title and label.unit and label.says for label in labels)
    assert len({label.title for label in labels}) == len(ESTIMATORS)
    assert not any(fallback("importance", name) for name in ESTIMATORS)


def test_signs_and_kinds_are_of_numbers_that_exist(variables: set[tuple[str, str]]) -> None:
    known = variables | {("importance", name) for name in ESTIMATORS}
    assert known >= SIGNED
    assert known >= CHOICES
    assert not SIGNED & CHOICES


def test_numbers_below_zero_are_signed(variables: set[tuple[str, str]]) -> None:
    """Whatever a planted model gives below 0 has a meaning on both sides of 0."""
    model, tokenizer = planted_attention()
    found = measure(
        model,
        tokenizer,
        pd.DataFrame(PAIRS, columns=["a", "b"]),
        text=("a", "b"),
        only=("position", "special", "entropy", "spread", "sentences", "repeated", "rare", "contribution"),
    )
    below = {
        (name, str(key))
        for name, node in found.children.items()
        for key, array in node.data_vars.items()
        if array.dims == HEAD_DIMS and (name, str(key)) in variables and float(array.min()) < -1e-6
    }
    assert below <= SIGNED


def test_an_unknown_number_is_called_by_its_names() -> None:
    assert find_label("mine", "how_far") == Label("mine: how far", "", "")
