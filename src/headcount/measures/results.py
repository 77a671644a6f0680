"""Where the values of a measure go as they come, in memory or in a study folder, and the Dataset that they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, head_coords
from headcount.core.statistics import mean_interval
from headcount.measures.contract import Measure, Setting

Arrays = dict[str, np.ndarray]
"""By variable: [example, stack, layer, head, ...]."""
LABELLED = dict[str, tuple[Any, ...]]


def coordinates(measure: Measure, setting: Setting, layout: Layout) -> LABELLED:
    """The coordinates of a measure's arrays."""
    coords = head_coords(layout) | measure.coords(setting)
    return {
        name: ((name,), np.asarray(values, dtype=object if isinstance(values[0], str) else None))
        for name, values in coords.items()
    }


def summarise(measure: Measure, setting: Setting, values: Arrays, seed: int) -> LABELLED:
    """Means with intervals over the texts, and what follows from the means."""
    found: LABELLED = {}
    means = {}
    for name, extra in measure.variables(setting).items():
        dims = (*HEAD_DIMS, *extra)
        means[name], low, high = mean_interval(values[name], seed=seed)
        found |= {name: (dims, means[name]), f"{name}_low": (dims, low), f"{name}_high": (dims, high)}
    for name, array in measure.finish(means).items():
        found[name] = (HEAD_DIMS[: array.ndim], array)
    found |= measure.whole(values, seed)
    return {name: (*labelled, measure.attributes(name)) for name, labelled in found.items()}


class MemoryResult:
    """Keeps the values of one measure in memory."""

    complete = False

    def __init__(
        self,
        measure: Measure,
        setting: Setting,
        layout: Layout,
        ids: np.ndarray,
        attributes: dict[str, Any],
        units: list[tuple[int, int]],
    ) -> None:
        self.measure, self.setting, self.layout, self.ids = measure, setting, layout, ids
        self.attributes, self.units = attributes, units
        self.found: dict[int, Arrays] = {}

    def done(self) -> list[bool]:
        return [False] * len(self.units)

    def save(self, unit: int, values: Arrays) -> None:
        self.found[unit] = values

    def finish(self, seed: int) -> xr.Dataset:
        values = {
            name: np.concatenate([self.found[unit][name] for unit in range(len(self.units))])
            for name in self.measure.variables(self.setting)
        }
        order = np.argsort(self.ids)
        values = {name: array[order] for name, array in values.items()}
        variables = self.measure.variables(self.setting)
        arrays: LABELLED = {
            f"values_{name}": (("example", *HEAD_DIMS, *variables[name]), array, self.measure.attributes(name))
            for name, array in values.items()
        }
        arrays |= summarise(self.measure, self.setting, values, seed)
        coords = coordinates(self.measure, self.setting, self.layout) | {"example": (("example",), self.ids[order])}
        return xr.Dataset(arrays, coords=coords, attrs=self.attributes)


class FolderResult:
    """Writes the values of one measure into a study as they come."""

    def __init__(
        self,
        out: str | Path,
        name: str | None,
        identity: dict[str, Any],
        measure: Measure,
        setting: Setting,
        layout: Layout,
        ids: np.ndarray,
        attributes: dict[str, Any],
        units: list[tuple[int, int]],
    ) -> None:
        from headcount.core.store import ArrayPlan, Study

        self.measure, self.setting, self.ids, self.units = measure, setting, ids, units
        coords = coordinates(measure, setting, layout)
        arrays = {}
        for variable, extra in measure.variables(setting).items():
            dims = ("example", *HEAD_DIMS, *extra)
            shape = (len(ids), *(len(coords[dim][1]) for dim in dims[1:]))
            arrays[f"values_{variable}"] = ArrayPlan(dims, shape, "float32", measure.attributes(variable))
        fixed = coords | {"example": (("example",), ids)}
        group = f"{attributes['group']}/{measure.name}{'@' + name if name else ''}"
        self.group = Study(out).group(group, identity, attributes, arrays, fixed, units)

    @property
    def complete(self) -> bool:
        return self.group.complete

    def done(self) -> list[bool]:
        return self.group.done()

    def save(self, unit: int, values: Arrays) -> None:
        self.group.write_unit(unit, *self.units[unit], {f"values_{name}": array for name, array in values.items()})

    def finish(self, seed: int) -> xr.Dataset:
        if not self.group.complete and all(self.group.done()):
            stored = self.group.read()
            order = np.argsort(self.ids)
            values = {name: stored[f"values_{name}"].values[order] for name in self.measure.variables(self.setting)}
            self.group.finish(summarise(self.measure, self.setting, values, seed), {})
        return self.group.read().sortby("example")
