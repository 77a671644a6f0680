"""The arrays of a measure's result: values for each text and head as they come, and the means that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, ArrayPlan, Labelled, head_coords, label_axes, with_interval
from headcount.core.schema import with_schemas
from headcount.core.statistics import mean_interval
from headcount.engines.run import Arrays
from headcount.measures.contract import Question, Schemas, Setting
from headcount.measures.strengths import strengths_of_roles

Variables = Mapping[str, tuple[str, ...]]
"""The variables and their dimensions after the head."""


def coordinates(layout: Layout, ids: np.ndarray, coords: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The coordinates of values: those of texts and heads, and of the dimensions after the head."""
    return label_axes({"example": ids} | head_coords(layout) | dict(coords))


def plan_values(variables: Variables, coords: Labelled, schemas: Schemas) -> dict[str, ArrayPlan]:
    """The values of each text: [example, stack, layer, head, ...] by variable."""
    arrays = {}
    for name, extra in variables.items():
        dims = ("example", *HEAD_DIMS, *extra)
        said = schemas[name].attributes() if name in schemas else {}
        arrays[f"values_{name}"] = ArrayPlan(dims, tuple(len(coords[dim][1]) for dim in dims), "float32", said)
    return arrays


def mean_values(variables: Variables, values: Arrays, seed: int) -> dict[str, tuple[Any, ...]]:
    """Means over the texts, with intervals."""
    arrays: dict[str, tuple[Any, ...]] = {}
    for name, extra in variables.items():
        arrays |= with_interval(name, (*HEAD_DIMS, *extra), mean_interval(values[f"values_{name}"], seed=seed))
    return arrays


def summarise_measure(measure: Question, setting: Setting, seed: int, values: Arrays) -> Labelled:
    """Means with intervals over the texts, and what follows from the means."""
    variables = measure.variables(setting)
    arrays: dict[str, tuple[Any, ...]] = {}
    if measure.averaged:
        arrays = mean_values(variables, values, seed)
        for name, array in measure.finish({name: arrays[name][1] for name in variables}).items():
            arrays[name] = (HEAD_DIMS[: array.ndim], array)
    arrays |= strengths_of_roles(measure, {name: values[f"values_{name}"] for name in variables}, seed)
    arrays |= measure.whole({name: values[f"values_{name}"] for name in variables}, seed)
    return with_schemas(arrays, measure.stored_schemas())
