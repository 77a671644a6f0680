"""What is computed and kept as one result: a run, and the units of work that it falls into."""

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
    """Some work: the examples `start` to `stop`, for the results of these groups."""

    number: int
    start: int
    stop: int
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One result: where it goes, what it is known by, its arrays, and what follows from them.

    `arrays` are filled unit by unit along their dimension `example`; units are all of one size but the last. A run
    without units has no such arrays: all of it comes from `finish`.
    """

    group: str
    origin: Origin
    options: Mapping[str, Any]
    """What else than the origin must be equal for the result to be resumed."""
    attributes: Mapping[str, Any]
    finish: Callable[[Arrays], Labelled]
    """From the arrays, when all units are there and in the order of the examples' ids, to what is kept beside them."""
    arrays: Mapping[str, ArrayPlan] = field(default_factory=dict)
    fixed: Labelled = field(default_factory=dict)
    """What is known before any work: coordinates, labels, texts."""
    units: Sequence[tuple[int, int]] = ()
    by_layer: Sequence[str] = ()
    """Arrays of `finish` that are read one layer at a time."""

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.origin.identity, **self.options}

    @property
    def provenance(self) -> dict[str, Any]:
        """The attributes of the result, with where its numbers come from."""
        return {**self.attributes, **self.origin.provenance}


def group_name(group: str, name: str | None) -> str:
    """The name of a group in a study: that of its kind and, where there is one, the name that the user gave.

    >>> group_name("sweep/head-zero", "again")
    'sweep/head-zero@again'
    """
    return f"{group}@{name}" if name else group
