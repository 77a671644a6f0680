"""A fact about one head: a sentence, the numbers that it rests on, and the result that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr

from headcount.core.heads import Head
from headcount.core.results import ENDS, HEAD_DIMS
from headcount.story.names import spell_interval

Number = float | str | None
Estimate = tuple[float, float, float]
"""A value with the ends of its interval; NaN where they are unknown."""


@dataclass(frozen=True)
class Fact:
    """A sentence about a head, the result it comes from, and its numbers by name."""

    sentence: str
    result: str
    numbers: Mapping[str, Number] = field(default_factory=dict)
    listed: bool = False
    """Whether it is an item of a list that the sentence before it begins."""

    def labelled(self, label: str) -> Fact:
        """The same fact, with what tells its result apart in brackets: a name, or another model.

        >>> Fact("It has no clear role.", "measures").labelled("words").sentence
        'It has no clear role (words).'
        """
        if not label:
            return self
        return replace(self, sentence=f"{self.sentence[:-1]} ({label}){self.sentence[-1]}")


def value_at(array: xr.DataArray, head: Head) -> float:
    """The value of an array [stack, layer, head] at a head; NaN if the array does not contain it."""
    stacks = [str(stack) for stack in array["stack"].values]
    inside = head.stack in stacks and head.layer < array.sizes["layer"]
    if "head" in array.dims:
        inside = inside and head.head < array.sizes["head"]
    if not inside:
        return float("nan")
    place = {"stack": stacks.index(head.stack), "layer": head.layer, "head": head.head}
    return float(array.isel({dim: place[str(dim)] for dim in array.dims}).values)


def estimate_at(dataset: xr.Dataset, variable: str, head: Head) -> Estimate:
    """A variable at a head, with its interval; NaN for what the result does not have."""
    value, low, high = (
        value_at(dataset[f"{variable}{end}"], head) if f"{variable}{end}" in dataset else float("nan") for end in ENDS
    )
    return value, low, high


def known(value: float) -> bool:
    return bool(np.isfinite(value))


def as_numbers(estimate: Estimate, **more: float) -> dict[str, Number]:
    """The numbers of an estimate by name, None for those that are unknown."""
    named = dict(zip(("value", "low", "high"), estimate, strict=True)) | more
    return {name: float(value) if known(value) else None for name, value in named.items()}


def spell_value(estimate: Estimate, signed: bool = False) -> str:
    """A value, with its interval if there is one.

    >>> spell_value((0.5, 0.4, 0.6)), spell_value((0.5, float("nan"), float("nan")))
    ('0.500 [0.400, 0.600]', '0.500')
    """
    value, low, high = estimate
    if known(low) and known(high):
        return spell_interval(estimate, signed=signed)
    return f"{value + 0:{'+' if signed else ''}.3f}"


def standing(value: float, values: np.ndarray) -> tuple[int, int, int]:
    """The first and the last rank that a value shares with its equals, the largest first, and how many there are.

    >>> standing(0.3, np.array([0.1, 0.7, np.nan, 0.3, 0.3]))
    (2, 3, 4)
    """
    values = values[np.isfinite(values)]
    return 1 + int((values > value).sum()), int((values >= value).sum()), len(values)


def spell_standing(value: float, values: np.ndarray) -> str:
    """Where a value stands among those of all heads.

    >>> spell_standing(0.7, np.array([0.1, 0.7, 0.3])), spell_standing(0.1, np.array([0.1, 0.1, 0.3]))
    ('the largest of 3 heads', 'rank 2 to 3 of 3 heads')
    """
    first, last, count = standing(value, values)
    if first == last == 1:
        return f"the largest of {count} heads"
    return f"rank {first if first == last else f'{first} to {last}'} of {count} heads"


def head_values(array: xr.DataArray) -> np.ndarray:
    """The values of all heads, in one row."""
    return np.asarray(array.transpose(*HEAD_DIMS).values, dtype=float).ravel()
