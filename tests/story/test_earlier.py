"""Every number that a measurement gives says what it is, and so does one of a study from before numbers did."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headcount.choosing import curves, dynamics
from headcount.choosing.estimators import CHOICES as ESTIMATORS
from headcount.choosing.estimators import SCHEMAS
from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema, read_schema
from headcount.costs import cost
from headcount.measures.catalogue import MEASURES
from headcount.measures.compare import Cosine
from headcount.measures.measure import measure
from headcount.story.earlier import schemas_of, series_schemas
from tests.measures import cases
from tests.measures.planted import PAIRS, planted_attention
from tests.measures.planted_decoder import planted_decoder

LATER = ("induction", "duplicate", "retrieval", "copying", "direct_effect")
"""Measures that came after schemas: every study that has them says what they mean."""


@pytest.fixture(scope="module")
def results() -> dict[str, xr.Dataset]:
    """What the measures really give, for pairs and for trees."""
    model, tokenizer = planted_attention()
    pairs = pd.DataFrame(PAIRS[:3], columns=["first", "second"])
    trees = cases.table([cases.sentence(one) for one in cases.TREES[:3]])
    found = {}
    for tree in (
        measure(model, tokenizer, pairs, text=("first", "second")),
        measure(model, tokenizer, trees, only=("features", "links")),
    ):
        found |= {name: node.to_dataset() for name, node in tree.children.items()}
    decoder = ("retrieval", "copying", "direct_effect")
    texts = pd.DataFrame({"text": ["a b c a b c", "d e f g d e"], "completion": [" b c", " e"]})
    texts = texts.assign(needle_start=2, needle_end=3)
    found |= {
        name: node.to_dataset() for name, node in measure(*planted_decoder(), texts, only=decoder).children.items()
    }
    assert set(found) == set(MEASURES)
    return found


def bare(dataset: xr.Dataset) -> xr.Dataset:
    """As a study from before arrays said what they are has it."""
    return xr.Dataset(
        {str(name): (array.dims, array.values) for name, array in dataset.data_vars.items()},
        coords=dataset.coords,
        attrs=dataset.attrs,
    )


@pytest.mark.parametrize("name", MEASURES)
def test_every_number_says_what_it_is(name: str, results: dict[str, xr.Dataset]) -> None:
    dataset = results[name]
    numbers = {
        str(key)
        for key, array in dataset.data_vars.items()
        if array.dims[:3] == HEAD_DIMS and not str(key).endswith(("_low", "_high"))
    }
    schemas = schemas_of(f"measures/{name}", dataset)
    assert set(schemas) == numbers
    for schema in schemas.values():
        assert schema.title
        assert schema.direction
        assert schema.unit or schema.names is not None
        assert schema.paper == MEASURES[name].paper
        assert schema.category
        assert not (schema.signed and schema.names is not None)
        for label in schema.most_of or ("",):
            assert len(schema.most.format(label)) <= 42, "a row of a table is short"


@pytest.mark.parametrize("name", MEASURES)
def test_numbers_are_as_their_schemas_say(name: str, results: dict[str, xr.Dataset]) -> None:
    """Within the range, and below 0 only where both sides of 0 have a meaning."""
    dataset = results[name]
    for variable, schema in schemas_of(f"measures/{name}", dataset).items():
        values = dataset[variable].values[np.isfinite(dataset[variable].values)]
        low, high = schema.range
        assert low is None or (values >= low - 1e-5).all(), variable
        assert high is None or (values <= high + 1e-5).all(), variable
        if schema.names:
            assert set(values) <= set(range(len(schema.names)))
        if schema.shown and variable != "shapes":
            assert schema.signed or (values >= -1e-6).all(), variable


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in LATER])
def test_a_study_that_says_nothing_is_shown_as_one_that_does(name: str, results: dict[str, xr.Dataset]) -> None:
    assert schemas_of(f"measures/{name}@words", bare(results[name])) == schemas_of(f"measures/{name}", results[name])


def test_titles_differ(results: dict[str, xr.Dataset]) -> None:
    """Two numbers of the same title could not be told apart in a list."""
    titles = [
        schema.title
        for name, dataset in results.items()
        for schema in schemas_of(f"measures/{name}", dataset).values()
        if name not in ("features", "links")
    ]
    assert len(titles) == len(set(titles))


def test_what_is_known_of_earlier_studies_is_what_is_said_now() -> None:
    known = json.loads((files("headcount.story") / "earlier.json").read_text(encoding="utf-8"))
    said = {**MEASURES, "cosine": Cosine()}
    beside = {"importance": SCHEMAS, "curve": curves.SCHEMAS, "dynamics": dynamics.SCHEMAS, "cost": cost.SCHEMAS}
    for name, stored in {**{name: said[name].stored_schemas() for name in set(known) - set(beside)}, **beside}.items():
        assert known[name] == {variable: schema.attributes() for variable, schema in stored.items()}, name


def test_every_estimator_says_what_it_is() -> None:
    assert set(SCHEMAS) == set(ESTIMATORS)
    assert all(schema.title and schema.unit and schema.direction for schema in SCHEMAS.values())
    assert len({schema.title for schema in SCHEMAS.values()}) == len(ESTIMATORS)
    assert next(iter(schemas_of("pruning/importance", _three_numbers("taylor", "gate", "michel")))) == "michel"


def _three_numbers(*names: str) -> xr.Dataset:
    coords = {"stack": ["encoder"], "layer": [0], "head": [0, 1, 2]}
    return xr.Dataset({name: (HEAD_DIMS, [[[0.1, 0.2, 0.3]]]) for name in names}, coords=coords)


def test_a_curve_that_says_nothing_is_shown_as_one_that_does() -> None:
    steps = {"removed": ("removed", [1, 2], curves.SCHEMAS["removed"].attributes())}
    said = xr.Dataset({"score": ("removed", [0.5, 0.4])}, coords=steps)
    assert series_schemas(said) == series_schemas(said.assign_coords(removed=[1, 2]))
    assert series_schemas(said) == {"removed": curves.SCHEMAS["removed"]}, "nobody knows what the score is"
    own = said.assign_coords(removed=("removed", [1, 2], Schema("Mine").attributes()))
    assert series_schemas(own) == {"removed": Schema("Mine")}


def test_an_unknown_number_is_called_by_its_names() -> None:
    (schema,) = schemas_of("measures/mine", _three_numbers("how_far")).values()
    assert schema == Schema("mine: how far", category="What it looks at")


def test_changes_have_a_sign() -> None:
    (schema,) = schemas_of("compare/special", _three_numbers("sep")).values()
    assert schema.title == "Change: Attention to [SEP]"
    assert schema.signed
    (maps,) = schemas_of("compare/cosine", _three_numbers("maps")).values()
    assert not maps.signed


def test_an_earlier_sweep() -> None:
    said = {"by": "head", "how": "zero", "metric": "loss", "higher_is_better": False}
    schemas = schemas_of("sweep/head-zero", _three_numbers("delta", "low", "high").assign_attrs(said))
    assert set(schemas) == {"delta"}
    assert schemas["delta"].title == "Change of loss without the head"
    assert schemas["delta"].direction.startswith("above 0: the model needs the head")


def test_what_an_array_says_comes_before_what_is_known() -> None:
    mine = _three_numbers("sep")
    mine["sep"].attrs = Schema("Mine").attributes()
    assert schemas_of("measures/special", mine) == {"sep": Schema("Mine")}
    assert read_schema(mine["sep"]) == Schema("Mine")
