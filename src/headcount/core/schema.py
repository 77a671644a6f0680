"""What a variable means: title, unit, range, direction; written where it is computed, stored with its array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import xarray as xr

from headcount.core.results import Labelled

STORED = {"title": "long_name", "unit": "units"}
"""The names that xarray's own plots look for; all other fields are stored under their own names."""

STRENGTH = "_strength"
"""The end of the name of what says how strong the role of a variable is."""


@dataclass(frozen=True)
class Schema:
    """What sentences, pages and figures need to know about a variable, so that none is known by name."""

    title: str
    unit: str = ""
    direction: str = ""
    """Which values mean what: "1: looks at nothing else"."""
    range: tuple[float | None, float | None] = (None, None)
    """The smallest and the largest possible value; None where there is no limit."""
    signed: bool = False
    """Whether values below and above 0 have different meanings."""
    centre: float | None = None
    """Of signed values that are no changes: the value between the two meanings, if it is known."""
    names: tuple[str, ...] | None = None
    """For values that are codes of categories: the categories' names; empty for groups without names."""
    category: str = ""
    """The heading under which a page lists it."""
    paper: str = ""
    most: str = ""
    """What the largest value says about a head: "looks most at the previous token"; no sentence if it is empty.
    A `{}` stands for the label along the variable's additional dimension."""
    most_of: tuple[str, ...] = ()
    """The labels along the additional dimension for which `most` is said."""
    role: str = ""
    """The role of a head whose value exceeds the chance level clearly enough (`story/roles.py`): "previous token"."""
    does: str = ""
    """What a head with the role does, as a title: "Attends to the previous token"."""
    baseline: str | float | None = None
    """The chance level of a value that has a role: a number, or the variable that holds it. None if it is not known."""
    role_from: float = 0.0
    """Where the chance level is not known, as in older results: the value from which a head has the role."""
    rank: int = 99
    """Lists show variables of low rank first."""
    main: bool = False
    """Whether it is one of the few that people look for first."""
    shown: bool = True
    """Whether heads can be coloured by it; not if it has a figure of its own."""

    def attributes(self) -> dict[str, Any]:
        """As attributes of an array, without those that have their default value."""
        attributes = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                attributes[STORED.get(field.name, field.name)] = list(value) if isinstance(value, tuple) else value
        return attributes

    def of_change(self) -> Schema:
        """The schema of this variable's difference between two models, the later one minus the earlier one."""
        return Schema(
            f"Change: {self.title}",
            self.unit,
            "above 0: more after fine-tuning",
            signed=True,
            category="Changed by fine-tuning",
            paper=self.paper,
            most=self.most,
            most_of=self.most_of,
            rank=self.rank,
            shown=self.shown,
        )


def read_schema(array: xr.DataArray | Mapping[str, Any]) -> Schema | None:
    """The schema that is stored with an array, or in its attributes; None if there is none.

    >>> read_schema({"long_name": "Attention to [SEP]", "range": [0, 1]}).range
    (0, 1)
    """
    attributes = array.attrs if isinstance(array, xr.DataArray) else array
    if STORED["title"] not in attributes:
        return None
    values: dict[str, Any] = {}
    for field in fields(Schema):
        value = attributes.get(STORED.get(field.name, field.name), field.default)
        values[field.name] = tuple(value) if isinstance(value, list) else value
    return Schema(**values)


def with_schemas(arrays: Labelled, schemas: Mapping[str, Schema]) -> Labelled:
    """The same arrays, each with what its variable means, where that is known."""
    return {name: (*array, schemas[name].attributes() if name in schemas else {}) for name, array in arrays.items()}
