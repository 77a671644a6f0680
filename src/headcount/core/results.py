"""Values per head as labelled arrays with dims (stack, layer, head), NaN where the model has no such head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.heads import Layout

HEAD_DIMS = ("stack", "layer", "head")
UNIT_DIMS = ("stack", "layer", "unit")
PAIR = "head_pair"
"""The dimension of values for pairs of heads; `pair` is the second text of an example."""
ENDS = ("", "_low", "_high")
"""After the name of a variable: its value, and the ends of its interval."""
Labelled = Mapping[str, tuple[Any, ...]]
"""By name, the dimensions, values and perhaps attributes of arrays, as xarray takes them."""


@dataclass(frozen=True)
class ArrayPlan:
    """An array to be filled unit by unit along its dimension `example`."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


def with_interval(name: str, dims: tuple[str, ...], triple: Sequence[np.ndarray]) -> dict[str, tuple[Any, ...]]:
    """A value and the ends of its interval as three labelled arrays.

    >>> list(with_interval("weight", ("head",), (np.ones(2), np.zeros(2), np.ones(2))))
    ['weight', 'weight_low', 'weight_high']
    """
    return {f"{name}{end}": (dims, array) for end, array in zip(ENDS, triple, strict=True)}


def fill_value(dtype: str) -> Any:
    """The value of entries that were never written: unknown, if the dtype can express that."""
    return {"string": "", "bool": False}.get(dtype, np.nan if "float" in dtype else 0 if "uint" in dtype else -1)


def head_coords(layout: Layout, heads: bool = True) -> dict[str, Any]:
    """The coordinates of an array with a value for each head, or for each layer, of the layout."""
    stacks = list(layout.stacks)
    coords: dict[str, Any] = {"stack": stacks, "layer": np.arange(max(layout.layers(stack) for stack in stacks))}
    if heads:
        coords["head"] = np.arange(max(layout.width(stack) for stack in stacks))
    return coords


def present_heads(layout: Layout) -> dict[str, tuple[Any, ...]]:
    """For each stack, which heads the model has: `present_<stack>` [layer, head], for results that run some of them."""
    coords = head_coords(layout)
    known: dict[str, tuple[Any, ...]] = {}
    for stack, layers in layout.stacks.items():
        present = np.zeros((len(coords["layer"]), len(coords["head"])), dtype=bool)
        for layer, heads in enumerate(layers):
            present[layer, list(heads)] = True
        known[f"present_{stack}"] = (("layer", "head"), present)
    return known


def label_axes(axes: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Coordinates as labelled arrays, each along its own dimension."""
    return {
        name: ((name,), np.asarray(values, dtype=object if isinstance(values[0], str) else None))
        for name, values in axes.items()
    }


def by_head(values: Mapping[Any, Any], layout: Layout) -> np.ndarray:
    """[stack, layer, head, ...] from a value (a number or an array) for each Head."""
    return _fill({(head.stack, head.layer, head.head): value for head, value in values.items()}, head_coords(layout))


def by_layer(values: Mapping[tuple[str, int], Any], layout: Layout) -> np.ndarray:
    """[stack, layer, ...] from a value for each (stack, layer)."""
    return _fill(dict(values), head_coords(layout, heads=False))


def _fill(values: Mapping[tuple[Any, ...], Any], coords: Mapping[str, Any]) -> np.ndarray:
    shape = tuple(len(axis) for axis in coords.values())
    sample = np.asarray(next(iter(values.values())))
    filled = np.full(shape + sample.shape, np.nan)
    stacks = {stack: number for number, stack in enumerate(coords["stack"])}
    for (stack, *index), value in values.items():
        filled[(stacks[stack], *index)] = value
    return filled


NAME = "headcount_result"
"""Where a result in memory remembers what it is called in a study: not an attribute, so that it is stored nowhere."""


def named(result: xr.Dataset, name: str) -> xr.Dataset:
    """The result, which remembers its name in a study, such as "sweep/head-zero"."""
    result.encoding[NAME] = name
    return result


def name_of(result: xr.Dataset) -> str | None:
    """The name in a study of a result that a verb has returned; None if it is unknown.

    >>> name_of(xr.Dataset(attrs={"by": "head", "how": "zero"}))
    'sweep/head-zero'
    """
    attributes = result.attrs
    if NAME in result.encoding:
        return str(result.encoding[NAME])
    if "group" in attributes and "measure" in attributes:  # a copy that some operation of xarray has made
        return f"{attributes['group']}/{attributes['measure']}"
    if "by" in attributes and "how" in attributes:
        return f"sweep/{attributes['by']}-{attributes['how']}"
    return "maps/text" if any(str(key).startswith("maps_") for key in result.data_vars) else None


FIRST_COLUMNS = ("score", "delta", "low", "high", "p", "q")


def _column_order(name: Any) -> tuple[int, str]:
    """The statistics that people look for come first, all others follow by name."""
    return (FIRST_COLUMNS.index(name) if name in FIRST_COLUMNS else len(FIRST_COLUMNS), str(name))


def as_table(dataset: xr.Dataset, dims: tuple[Any, ...] | None = None) -> Any:
    """The values per head, layer or set as a pandas table with a row for each, without absent heads.

    `dims`: those of the values in the table, where a result has values for heads and for feed-forward units.
    """
    dims = dims or (tuple(dataset["score"].dims) if "score" in dataset.data_vars else HEAD_DIMS)
    columns: dict[str, xr.DataArray] = {}
    for key, array in dataset.data_vars.items():
        name = str(key)
        if tuple(array.dims) == dims:
            columns[name] = array
        elif array.dims[:-1] == dims and not name.startswith("values_"):
            # An additional dimension, such as offsets: a column for each of its labels.
            last = str(array.dims[-1])
            columns |= {f"{name}[{label}]": array.sel({last: label}, drop=True) for label in array[last].values}
    # The copy defragments the table: pandas warns when an index is inserted into many separate columns.
    table = xr.Dataset(columns).to_dataframe(dim_order=list(dims)).dropna(how="all").copy().reset_index()
    table = table[[*dims, *sorted(columns, key=_column_order)]]
    for name, array in columns.items():
        if "score" in columns and array.attrs.get("names"):  # codes in a sweep, such as why a head was run
            table[name] = table[name].map(dict(enumerate(array.attrs["names"])))
    return table.astype({name: "Int64" for name in ("layer", "head", "unit") if name in table})
