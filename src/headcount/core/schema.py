"""What a variable means: title, unit, range, direction. Written where it is computed, stored with its array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import xarray as xr

STORED = {"title": "long_name", "unit": "units"}
"""The names under which xarray's own plots look for them; all other fields are stored under their own names."""


@dataclass(frozen=True)
class Schema:
    """What sentences, pages and figures need to know of a variable, so that they know none by its name."""

    title: str
    unit: str = ""
    direction: str = ""
    """Which values mean what: "1: looks at nothing else"."""
    range: tuple[float | None, float | None] = (None, None)
    """The smallest and the largest value that can occur; None where there is no limit."""
    signed: bool = False
    """Both sides of 0 have a meaning."""
    names: tuple[str, ...] | None = None
    """Where values are numbers of kinds and not amounts: the kinds' names; empty for groups without names."""
    category: str = ""
    """The heading under which a page lists it."""
    paper: str = ""
    most: str = ""
    """What the largest value says of a head: "looks most at the previous token"; no such sentence where it is empty.
    A `{}` stands for the label along the variable's further dimension."""
    most_of: tuple[str, ...] = ()
    """The labels along the further dimension for which `most` is said."""
    role: str = ""
    """What a head with at least `role_from` mostly does: "previous token"."""
    role_from: float = 0.0
    rank: int = 99
    """Variables of low rank come first in lists, and of several roles a head has the one of lowest rank."""
    shown: bool = True
    """Whether heads can be coloured by it; what is drawn in a picture of its own is not."""

    def attributes(self) -> dict[str, Any]:
        """As attributes of an array; what is as by default is left out."""
        said = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            STORED.get(name, name): list(value) if isinstance(value, tuple) else value
            for name, (value, default) in said.items()
            if value != default
        }

    def of_change(self) -> Schema:
        """The meaning of this variable's difference between two models, the later one's value minus the other's."""
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
    """What an array, or its attributes, say of it; None where they say nothing.

    >>> read_schema({"long_name": "Attention to [SEP]", "range": [0, 1]}).range
    (0, 1)
    """
    attributes = array.attrs if isinstance(array, xr.DataArray) else array
    if STORED["title"] not in attributes:
        return None
    said: dict[str, Any] = {}
    for field in fields(Schema):
        value = attributes.get(STORED.get(field.name, field.name), field.default)
        said[field.name] = tuple(value) if isinstance(value, list) else value
    return Schema(**said)
