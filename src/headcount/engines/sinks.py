"""Where the arrays of a run go as they come: into memory, or into a study folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import xarray as xr

from headcount.core.results import Labelled, fill_value
from headcount.engines.run import Arrays, Run

if TYPE_CHECKING:
    from headcount.core.group import Group


class Sink(Protocol):
    """Keeps one run: unit by unit, then what follows from all of them."""

    units: list[tuple[int, int]]
    """As they were laid out when the run began, which may have been on another machine."""

    @property
    def complete(self) -> bool: ...

    def done(self) -> list[bool]: ...

    def save(self, unit: int, arrays: Arrays) -> None: ...

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

    def save(self, unit: int, arrays: Arrays) -> None:
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
    """Writes a run into a study folder. A run without units is written as a whole, when it is finished."""

    def __init__(self, run: Run, out: str | Path) -> None:
        from headcount.core.store import Study

        self.run, self.study = run, Study(out)
        self.group: Group | None
        if run.units:
            self.group = self._lay_out()
            self.units = self.group.units()
        else:
            self.units = []
            self.group = self.study.existing(run.group, run.identity)
            if self.group is None:
                self.study.announce(run.group, run.identity, run.provenance)

    def _lay_out(self) -> Group:
        run = self.run
        return self.study.group(
            run.group, run.identity, run.provenance, run.arrays, run.fixed, list(run.units) or [(0, 1)]
        )

    @property
    def complete(self) -> bool:
        return self.group is not None and self.group.complete

    def done(self) -> list[bool]:
        return self.group.done() if self.group is not None and self.units else []

    def save(self, unit: int, arrays: Arrays) -> None:
        assert self.group is not None
        self.group.write_unit(unit, *self.units[unit], arrays)

    def finish(self, summary: Labelled) -> None:
        if self.group is None:
            self.group = self._lay_out()
        self.group.finish(summary, {}, by_layer=self.run.by_layer)

    def read(self) -> xr.Dataset:
        from headcount.core.group import DONE

        assert self.group is not None
        found = self.group.read() if self.units else self.group.read().drop_vars(DONE)
        texts = [name for name, variable in found.variables.items() if variable.dtype.kind == "T"]
        return found.assign(
            {name: (found[name].dims, found[name].values.astype(object), found[name].attrs) for name in texts}
        )


def open_sinks(runs: Sequence[Run], out: str | Path | None) -> dict[str, Sink]:
    """By group, where each run is kept: in the study folder `out`, or in memory.

    What is in the study comes first: if it is refused, nothing new has been laid out beside it.
    """
    if out is None:
        return {run.group: MemorySink(run) for run in runs}
    known_first = sorted(runs, key=lambda run: not (Path(out) / run.group).exists())
    return {run.group: FolderSink(run, out) for run in known_first}
