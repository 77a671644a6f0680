"""What a variable means survives its way through attributes, memory and a study folder."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headcount.core.damage import damages
from headcount.core.read_study import open_study, read_results
from headcount.core.results import ArrayPlan
from headcount.core.schema import Schema, read_schema
from headcount.core.store import Study
from tests.study_results import write_result

FULL = Schema(
    "How far it looks",
    "seconds",  # a unit of time, which xarray would turn into dates if it were asked
    "high: far away",
    (0, None),
    signed=True,
    centre=0.5,
    names=("no", "yes"),
    category="What it looks at",
    paper="Nobody 2020",
    most="looks farthest at {}",
    most_of=("noun", "verb"),
    role="far",
    does="Looks far away",
    baseline="far_chance",
    role_from=0.5,
    rank=3,
    main=True,
    shown=False,
)


@pytest.mark.parametrize("schema", [FULL, Schema("Only a title"), Schema("Groups", names=())])
def test_attributes_and_back(schema: Schema) -> None:
    assert read_schema(schema.attributes()) == schema
    assert read_schema(xr.DataArray([1.0], attrs=schema.attributes())) == schema


def test_the_example_fills_every_field() -> None:
    assert not [field.name for field in fields(Schema) if getattr(FULL, field.name) == field.default]


def test_what_is_as_by_default_is_not_stored() -> None:
    assert Schema("Only a title").attributes() == {"long_name": "Only a title"}


def test_an_array_that_says_nothing() -> None:
    assert read_schema(xr.DataArray([1.0])) is None
    assert read_schema({"units": "nats"}) is None


def test_a_change_has_a_sign_and_no_role() -> None:
    changed = FULL.of_change()
    assert changed.signed
    assert changed.title == "Change: How far it looks"
    assert (changed.unit, changed.paper, changed.most_of) == (FULL.unit, FULL.paper, FULL.most_of)
    assert (changed.role, changed.names) == ("", None)


def written(path: Path) -> Path:
    """A study with a planned, a fixed and a summarised array, and a result as a whole, each with a schema."""
    group = Study(path).group(
        "measures/mine",
        {"seed": 0},
        {},
        {"values_far": ArrayPlan(("example", "head"), (2, 3), "float32", FULL.attributes())},
        {"head": (("head",), np.arange(3)), "near": (("head",), np.ones(3), FULL.attributes())},
        [(0, 2)],
    )
    group.write_unit(0, 0, 2, {"values_far": np.ones((2, 3))})
    group.finish({"far": (("head",), np.ones(3), FULL.attributes()), "bare": (("head",), np.ones(3))}, {})
    whole = xr.Dataset({"far": ("head", np.ones(3), FULL.attributes())}, coords={"head": np.arange(3)})
    write_result(path, "pruning/mine", {"seed": 0}, whole)
    return path


def test_a_study_keeps_what_its_arrays_mean(tmp_path: Path) -> None:
    path = written(tmp_path / "study")
    assert not damages(path)
    tree = open_study(path)
    for name in ("values_far", "near", "far"):
        array = tree["measures/mine"][name]
        assert read_schema(array) == FULL, name
        assert array.dtype.kind == "f", name
    assert read_schema(tree["pruning/mine"]["far"]) == FULL
    assert read_schema(tree["measures/mine"]["bare"]) is None


def test_what_a_page_reads_keeps_it_too(tmp_path: Path) -> None:
    found = read_results(written(tmp_path / "study"), lambda *_: True)
    assert read_schema(found["measures/mine"][1]["far"]) == FULL
    assert read_schema(found["pruning/mine"][1]["far"]) == FULL


def test_a_meaning_that_was_changed_on_the_disk_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path / "study")
    node = path / "measures" / "mine" / "far" / "zarr.json"
    node.write_text(node.read_text(encoding="utf-8").replace("How far it looks", "How near it looks"), encoding="utf-8")
    assert list(damages(path)) == ["measures/mine"]
