"""A run, which computes one result of a study, and the units of work that it is divided into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headcount.core.provenance import Origin
from headcount.core.results import ArrayPlan, Labelled

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Unit:
    """A unit of work: the examples `start` to `stop`, for the results of these groups."""

    number: int
    start: int
    stop: int
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One result: its group in a study, its origin and options, its arrays, and the summary of these.

    `arrays` are filled unit by unit along their dimension `example`; units are all of one size but the last. A run
    without units has no such arrays: `finish` computes all of it.
    """

    group: str
    origin: Origin
    options: Mapping[str, Any]
    """What must be equal, besides the origin, for the result to be resumed."""
    attributes: Mapping[str, Any]
    finish: Callable[[Arrays], Labelled]
    """Computes the summary from the arrays, once all units are done, in the order of the examples' ids."""
    arrays: Mapping[str, ArrayPlan] = field(default_factory=dict)
    fixed: Labelled = field(default_factory=dict)
    """What is known beforehand: coordinates, labels, texts."""
    units: Sequence[tuple[int, int]] = ()
    by_layer: Sequence[str] = ()
    """Arrays of `finish` that are read one layer at a time."""

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.origin.identity, **self.options}

    @property
    def provenance(self) -> dict[str, Any]:
        """The attributes of the result, with its versions, models and device."""
        return {**self.attributes, **self.origin.provenance}


def group_name(group: str, name: str | None) -> str:
    """The name of a group in a study: that of its kind, followed by the user's name for it, if given.

    >>> group_name("sweep/head-zero", "again")
    'sweep/head-zero@again'
    """
    return f"{group}@{name}" if name else group
