"""A study as a page needs it: its complete results by name, and the heads that they speak of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from headcount.core.heads import Head, Layout
from headcount.core.read_study import read_results
from headcount.core.results import HEAD_DIMS


@dataclass(frozen=True)
class View:
    """A study that has been read."""

    name: str
    results: dict[str, xr.Dataset]
    unfinished: tuple[str, ...]
    layout: Layout

    def of(self, kind: str) -> dict[str, xr.Dataset]:
        """The results of one kind, such as `sweep`, by the rest of their names."""
        return {name.split("/", 1)[1]: found for name, found in self.results.items() if name.startswith(f"{kind}/")}

    def along(self, name: str) -> bool:
        """Whether a result of `pruning` is of a checkpoint on the way, which the dynamics tell of all together."""
        steps = sorted(one for one in self.of("pruning") if re.search(r"@step-\d+$", one))
        return name in steps and "dynamics" in self.of("pruning") and name.split("@")[1] != steps[-1].split("@")[1]

    def by_head(self, values: xr.DataArray) -> list[float | None]:
        """A value for every head of the layout, in its order; None where there is none."""
        array = values.transpose(*HEAD_DIMS).values
        stacks = [str(one) for one in values["stack"].values]
        return [number(_at(array, stacks, head)) for head in self.layout]


LARGEST = 1_000_000
"""Entries of an array that is read in any case."""
NEEDED = ("logits", "baseline_logits", "texts", "baseline_texts", "text", "pair")
SETS = ("sweep/sets-", "sweep/draws-")
"""Their numbers stand in the curves."""


def read_view(path: str | Path) -> View:
    """Open a study; a damaged or newer one is an error that says so."""
    found = read_results(path, _wanted)
    results = {name: dataset for name, (complete, dataset) in found.items() if complete}
    unfinished = tuple(name for name in found if name not in results)
    return View(Path(path).resolve().name, results, unfinished, find_layout(results))


def _wanted(result: str, array: str, shape: tuple[int, ...]) -> bool:
    """Not the values of every text, which no page shows."""
    if array.startswith("values_") or array == "done" or result.startswith(SETS):
        return False
    if result.startswith("patterns/"):
        return True
    return math.prod(shape) <= LARGEST or array in NEEDED or array.startswith("maps_")


ORDER = ("encoder", "decoder", "cross")


def find_layout(results: dict[str, xr.Dataset]) -> Layout:
    """The heads that any result has a number for; a head without one, such as a pruned one, is absent."""
    present: dict[str, np.ndarray] = {}
    for found in results.values():
        for stack, mask in _present(found):
            known = present.get(stack, np.zeros((0, 0), dtype=bool))
            whole = np.zeros(np.maximum(known.shape, mask.shape), dtype=bool)
            whole[: known.shape[0], : known.shape[1]] |= known
            whole[: mask.shape[0], : mask.shape[1]] |= mask
            present[stack] = whole
    # A sweep of one stack of several spells its heads with the stack, and so does the page.
    several = len(present) > 1 or any("." in str(found["best"].values) for found in results.values() if "best" in found)
    stacks: dict[str, tuple[tuple[int, ...], ...]] = {}
    for stack in sorted({*present, *(ORDER if several and present else ())}, key=_place):
        mask = present.get(stack, np.zeros((0, 0), dtype=bool))
        # Arrays are as deep as the deepest stack: where there are several, the last layer with a head is the last.
        depth = int(np.flatnonzero(mask.any(1)).max(initial=-1)) + 1 if several else len(mask)
        stacks[stack] = tuple(tuple(int(one) for one in np.flatnonzero(row)) for row in mask[:depth])
    return Layout(stacks)


def _place(stack: str) -> int:
    return ORDER.index(stack) if stack in ORDER else len(ORDER)


def _present(found: xr.Dataset) -> Iterator[tuple[str, np.ndarray]]:
    """Stacks and [layer, head]: whether a number of the result speaks of the head."""
    for key, array in found.data_vars.items():
        name = str(key)
        if array.dims == HEAD_DIMS and array.dtype.kind == "f" and not name.startswith("values_"):
            known = np.isfinite(array.values)
            yield from (
                (str(stack), known[number]) for number, stack in enumerate(array["stack"].values) if known[number].any()
            )
        elif name.startswith("present_"):
            yield name.removeprefix("present_"), array.values.astype(bool)


def _at(array: np.ndarray, stacks: list[str], head: Head) -> float:
    if head.stack not in stacks or head.layer >= array.shape[1] or head.head >= array.shape[2]:
        return float("nan")
    return float(array[stacks.index(head.stack), head.layer, head.head])


def number(value: float, digits: int = 4) -> float | None:
    """A number as the page gets it: a few digits, None for what is unknown.

    >>> number(0.123456), number(float("nan"))
    (0.1235, None)
    """
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None
