"""A study as the page needs it: its complete results by name, and the heads that they have numbers for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import xarray as xr

from headcount.core.heads import Head, Layout
from headcount.core.read_study import read_results
from headcount.core.results import HEAD_DIMS


@dataclass(frozen=True)
class View:
    """The results of a study, read into memory."""

    name: str
    results: dict[str, xr.Dataset]
    unfinished: tuple[str, ...]
    layout: Layout
    date: str = ""
    """The day on which its last result was written, if it is a folder: "19 November 2026"."""

    def of(self, kind: str) -> dict[str, xr.Dataset]:
        """The results of one kind, such as `sweep`, by the rest of their names."""
        return {name.split("/", 1)[1]: result for name, result in self.results.items() if name.startswith(f"{kind}/")}

    def named(self, kind: str) -> dict[str, xr.Dataset]:
        """The same without the results that have a name of their own, such as those of a second model."""
        return {name: result for name, result in self.of(kind).items() if "@" not in name}

    @property
    def task(self) -> str:
        """The task of the first result that has one."""
        return next((str(result.attrs["task"]) for result in self.results.values() if "task" in result.attrs), "")

    def is_passing_checkpoint(self, name: str) -> bool:
        """Whether a result of `pruning` belongs to a checkpoint before the last, which the dynamics already show."""
        steps = sorted(other for other in self.of("pruning") if re.search(r"@step-\d+$", other))
        return name in steps and "dynamics" in self.of("pruning") and name.split("@")[1] != steps[-1].split("@")[1]

    def by_head(self, values: xr.DataArray) -> list[float | None]:
        """A value for every head of the layout, in its order; None where it is unknown."""
        array = values.transpose(*HEAD_DIMS).values
        stacks = [str(stack) for stack in values["stack"].values]
        return [number(_at(array, stacks, head)) for head in self.layout]


LARGEST = 1_000_000
"""Arrays with at most this many entries are always read."""
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NEEDED = ("logits", "baseline_logits", "texts", "baseline_texts", "text", "pair")
SETS = ("sweep/sets-", "sweep/draws-")
"""Sweeps whose numbers are part of the curves."""


def read_view(path: str | Path) -> View:
    """Read a study; a damaged one, or one of a newer version, is an error."""
    read = read_results(path, _is_shown)
    results = {name: dataset for name, (complete, dataset) in read.items() if complete}
    unfinished = tuple(name for name in read if name not in results)
    return View(Path(path).resolve().name, results, unfinished, find_layout(results), _date_of(Path(path)))


def _date_of(path: Path) -> str:
    written = max((file.stat().st_mtime for file in (path, *path.glob("*/*/zarr.json"))), default=0)
    day = date.fromtimestamp(written)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _is_shown(result: str, array: str, shape: tuple[int, ...]) -> bool:
    """Whether the page needs an array: not the values of single texts."""
    if array.startswith("values_") or array == "done" or result.startswith(SETS):
        return False
    if result.startswith("patterns/"):
        return True
    return math.prod(shape) <= LARGEST or array in NEEDED or array.startswith(("maps_", "blocks_"))


ORDER = ("encoder", "decoder", "cross")
NAMING = ("best", "best_head")
"""Variables that spell heads."""


def find_layout(results: dict[str, xr.Dataset]) -> Layout:
    """The heads that any result has a number for; pruned heads have none."""
    present: dict[str, np.ndarray] = {}
    for result in results.values():
        for stack, mask in _known_heads(result):
            before = present.get(stack, np.zeros((0, 0), dtype=bool))
            union = np.zeros(np.maximum(before.shape, mask.shape), dtype=bool)
            union[: before.shape[0], : before.shape[1]] |= before
            union[: mask.shape[0], : mask.shape[1]] |= mask
            present[stack] = union
    # A result of one stack of several spells its heads with the stack, and so does the page.
    several = len(present) > 1 or any(
        "." in str(result[name].values) for result in results.values() for name in NAMING if name in result
    )
    stacks: dict[str, tuple[tuple[int, ...], ...]] = {}
    for stack in sorted({*present, *(ORDER if several and present else ())}, key=_rank):
        mask = present.get(stack, np.zeros((0, 0), dtype=bool))
        # With several stacks, arrays are as deep as the deepest one: a stack ends at its last layer with a head.
        depth = int(np.flatnonzero(mask.any(1)).max(initial=-1)) + 1 if several else len(mask)
        stacks[stack] = tuple(tuple(int(head) for head in np.flatnonzero(row)) for row in mask[:depth])
    return Layout(stacks)


def _rank(stack: str) -> int:
    return ORDER.index(stack) if stack in ORDER else len(ORDER)


def _known_heads(result: xr.Dataset) -> Iterator[tuple[str, np.ndarray]]:
    """For each stack, whether the result has a number for each head [layer, head]."""
    for key, array in result.data_vars.items():
        name = str(key)
        if array.dims == ("checkpoint", *HEAD_DIMS):
            array = array.transpose(*HEAD_DIMS, ...)
        if array.dims[:3] == HEAD_DIMS and array.dtype.kind == "f" and not name.startswith("values_"):
            known = np.isfinite(array.values).any(tuple(range(3, array.ndim)))
            yield from (
                (str(stack), mask) for stack, mask in zip(array["stack"].values, known, strict=True) if mask.any()
            )
        elif name.startswith("present_"):
            yield name.removeprefix("present_"), array.values.astype(bool)


def _at(array: np.ndarray, stacks: list[str], head: Head) -> float:
    if head.stack not in stacks or head.layer >= array.shape[1] or head.head >= array.shape[2]:
        return float("nan")
    return float(array[stacks.index(head.stack), head.layer, head.head])


def number(value: float, digits: int = 4) -> float | None:
    """A number for the page: rounded to a few digits, None if unknown.

    >>> number(0.123456), number(float("nan"))
    (0.1235, None)
    """
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None
