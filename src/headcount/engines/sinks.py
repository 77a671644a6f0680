"""Where the arrays of a run are kept: in memory, or in a study folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import xarray as xr

from headcount.core.results import ArrayPlan, Labelled, fill_value
from headcount.core.schema import Schema
from headcount.engines.run import Arrays, Run

if TYPE_CHECKING:
    from headcount.core.group import Group


RAN_ON = "ran_on"
"""In runs that workers elsewhere share, the worker that computed each example."""
HERE = "the driver"


class Sink(Protocol):
    """Keeps one run: its units, then the summary of all of them."""

    units: list[tuple[int, int]]
    """As planned when the run was begun, which may have been on another machine."""

    @property
    def complete(self) -> bool: ...

    def done(self) -> list[bool]: ...

    def save(self, unit: int, arrays: Arrays, place: str = "") -> None:
        """`place`: where they were computed, if not in this process."""
        ...

    def finish(self, summary: Labelled) -> None: ...

    def read(self) -> xr.Dataset: ...


class MemorySink:
    """Keeps a run in memory."""

    def __init__(self, run: Run) -> None:
        self.run, self.units, self.complete = run, list(run.units), False
        self.flags = [False] * len(self.units)
        self.summary: Labelled = {}
        self.arrays = {
            name: np.full(plan.shape, fill_value(plan.dtype), dtype=object if plan.dtype == "string" else plan.dtype)
            for name, plan in run.arrays.items()
        }

    def done(self) -> list[bool]:
        return list(self.flags)

    def save(self, unit: int, arrays: Arrays, place: str = "") -> None:
        if RAN_ON in self.run.arrays:
            arrays = arrays | _said(place, self.units[unit])
        for name, values in arrays.items():
            axis = self.run.arrays[name].dims.index("example")
            self.arrays[name][(*[slice(None)] * axis, slice(*self.units[unit]))] = values
        self.flags[unit] = True

    def finish(self, summary: Labelled) -> None:
        self.summary, self.complete = summary, True

    def read(self) -> xr.Dataset:
        by_unit = {
            name: (self.run.arrays[name].dims, values, self.run.arrays[name].attributes)
            for name, values in self.arrays.items()
        }
        variables = {**by_unit, **self.run.fixed, **self.summary}
        attributes = {**self.run.provenance, "identity": self.run.identity, "complete": self.complete}
        axes = {name: variable for name, variable in variables.items() if name in variable[0]}
        return xr.Dataset({k: v for k, v in variables.items() if k not in axes}, coords=axes, attrs=attributes)


class FolderSink:
    """Writes a run into a study folder; a run without units is written as a whole when it is finished."""

    def __init__(self, run: Run, out: str | Path) -> None:
        from headcount.core.store import Study

        self.run, self.study = run, Study(out)
        self.group: Group | None
        if run.units:
            self.group = self._create()
            self.units = self.group.units()
        else:
            self.units = []
            self.group = self.study.existing(run.group, run.identity)
            if self.group is None:
                self.study.announce(run.group, run.identity, run.provenance)

    def _create(self) -> Group:
        run = self.run
        return self.study.group(
            run.group, run.identity, run.provenance, run.arrays, run.fixed, list(run.units) or [(0, 1)]
        )

    @property
    def complete(self) -> bool:
        return self.group is not None and self.group.complete

    def done(self) -> list[bool]:
        return self.group.done() if self.group is not None and self.units else []

    def save(self, unit: int, arrays: Arrays, place: str = "") -> None:
        assert self.group is not None
        if RAN_ON in self.group.zarr:  # as it was when the run began, which may have been on other machines
            arrays = arrays | _said(place, self.units[unit])
        self.group.write_unit(unit, *self.units[unit], arrays)

    def finish(self, summary: Labelled) -> None:
        if self.group is None:
            self.group = self._create()
        self.group.finish(summary, {}, by_layer=self.run.by_layer)

    def read(self) -> xr.Dataset:
        from headcount.core.group import DONE

        assert self.group is not None
        result = self.group.read() if self.units else self.group.read().drop_vars(DONE)
        texts = {name: variable for name, variable in result.variables.items() if variable.dtype.kind == "T"}
        return result.assign(
            {name: (text.dims, text.values.astype(object), text.attrs) for name, text in texts.items()}
        )


def with_places(run: Run) -> Run:
    """The run with an array that says where each example was computed; one without units is computed here."""
    if not run.units:
        return run
    said = Schema("Worker that computed the example", shown=False).attributes()
    plan = ArrayPlan(("example",), (run.units[-1][1],), "string", said)
    return replace(run, arrays={**run.arrays, RAN_ON: plan})


def _said(place: str, unit: tuple[int, int]) -> Arrays:
    start, stop = unit
    return {RAN_ON: np.array([place or HERE] * (stop - start), dtype=object)}


def open_sinks(runs: Sequence[Run], out: str | Path | None) -> dict[str, Sink]:
    """By group, the sink of each run: in the study folder `out`, or in memory.

    Runs that the study has come first: if one of them is refused, nothing new has been written yet.
    """
    if out is None:
        return {run.group: MemorySink(run) for run in runs}
    existing_first = sorted(runs, key=lambda run: not (Path(out) / run.group).exists())
    return {run.group: FolderSink(run, out) for run in existing_first}
