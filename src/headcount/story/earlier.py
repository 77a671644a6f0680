"""The schemas of a result: as stored with its arrays or, for studies older than schemas, as they would be now."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema, read_schema
from headcount.core.sweep_schemas import sweep_schemas


def schemas_of(name: str, dataset: xr.Dataset) -> dict[str, Schema]:
    """Schemas of the variables with a value for each head, sorted by rank; `name` is such as `measures/special`."""
    arrays = {
        str(key): array
        for key, array in dataset.data_vars.items()
        if array.dims[:3] == HEAD_DIMS and not str(key).startswith("values_")
    }
    stored = {key: schema for key, array in arrays.items() if (schema := read_schema(array)) is not None}
    schemas = stored or _earlier(name, dataset, list(arrays))
    return dict(sorted(schemas.items(), key=lambda item: (item[1].rank, item[0])))


def series_schemas(dataset: xr.Dataset) -> dict[str, Schema]:
    """By variable and coordinate, for a curve, the dynamics of a training, or costs."""
    known = {key: said for kind in ("curve", "dynamics", "cost") for key, said in _known()[kind].items()}
    schemas = {
        str(key): read_schema(array.attrs) or read_schema(known.get(str(key), {}))
        for key, array in dataset.variables.items()
    }
    return {key: schema for key, schema in schemas.items() if schema is not None}


def _earlier(name: str, dataset: xr.Dataset, variables: list[str]) -> dict[str, Schema]:
    kind, _, rest = name.partition("/")
    if kind == "sweep":
        attributes = dataset.attrs
        known = sweep_schemas(attributes["metric"], bool(attributes.get("higher_is_better", True)), attributes["by"])
        return {variable: known[variable] for variable in variables if variable in known}
    measure = rest.split("@")[0]
    schemas = {
        variable: _by_name(measure, variable) for variable in variables if not variable.endswith(("_low", "_high"))
    }
    if kind == "compare" and measure != "cosine":
        return {variable: schema.of_change() for variable, schema in schemas.items()}
    return schemas


def _by_name(measure: str, variable: str) -> Schema:
    """The schema of a known variable, or one made from its name."""
    known = read_schema(_known().get(measure, {}).get(variable, {}))
    return known or Schema(f"{measure}: {variable.replace('_', ' ')}", category="What it looks at")


@cache
def _known() -> dict[str, dict[str, dict[str, object]]]:
    """By measure and variable, the attributes that arrays of older studies lack."""
    text = (files("headcount.story") / "earlier.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]
