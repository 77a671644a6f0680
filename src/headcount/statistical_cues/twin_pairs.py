"""Which row is the adversarial twin of which: the one with the same choices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.row_numbers import name_row, source_of
from headcount.errors import DataProblem, listed, short

TWIN = "twin"
"""The column in which `adversarial` says which rows are original, negated, swapped, or both."""
USUAL = (TWIN, "adversarial")
"""Names of the column that says which rows are twins, by default."""
ORIGINAL, ADVERSARIAL = ("original", "false", "0"), ("negated", "true", "1")
LEFT_OUT = ("swapped", "negated and swapped")
"""Copies of other rows, which would be counted twice."""


def find_pairs(table: pd.DataFrame, choices: Sequence[str], column: str | None = None) -> np.ndarray:
    """[pair, 2]: the positions of each original and of its twin, in the order of the originals.

    `column` says which rows are twins: `original` and `negated`, or false and true. Rows with the same choices as
    several others are paired in their order.
    """
    twin = _which(table, column)
    waiting: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    keys = list(zip(*(table[name].astype(str) for name in choices), strict=True))
    for row in np.flatnonzero(twin == 1)[::-1]:
        waiting[keys[row]].append(int(row))
    pairs = []
    for row in np.flatnonzero(twin == 0):
        if not waiting[keys[row]]:
            raise _unpaired(table, int(row), "original", "twin")
        pairs.append((int(row), waiting[keys[row]].pop()))
    over = [row for rows in waiting.values() for row in rows]
    if over:
        raise _unpaired(table, min(over), "twin", "original")
    return np.array(pairs)


def _which(table: pd.DataFrame, column: str | None) -> np.ndarray:
    """[row]: 0 for an original, 1 for a twin, -1 for a row that is left out."""
    present = [name for name in ((column,) if column else USUAL) if name in table.columns]
    if not present:
        expected = short(column) if column else " or ".join(map(repr, USUAL))
        raise DataProblem(
            f"no column {expected} that says which rows are twins; {source_of(table)} has {listed(table.columns)}: "
            "name one with twin_column=, or make twins with negations="
        )
    values = table[present[0]].map(lambda value: str(value).strip().lower())
    codes = dict.fromkeys(ORIGINAL, 0) | dict.fromkeys(ADVERSARIAL, 1) | dict.fromkeys(LEFT_OUT, -1)
    unknown = values[~values.isin(list(codes))]
    if len(unknown):
        where = name_row(table.attrs, unknown.index[0])
        raise DataProblem(
            f"{where}, column {short(present[0])}: got {short(unknown.iloc[0])}; expected original or negated, or "
            "false or true"
        )
    found = values.map(codes).to_numpy()
    for code, name in ((0, "originals"), (1, "twins with negated claims")):
        if not (found == code).any():
            raise DataProblem(f"column {short(present[0])} has no {name}; expected pairs of an original and its twin")
    return np.asarray(found)


def _unpaired(table: pd.DataFrame, row: int, name: str, other: str) -> DataProblem:
    where = name_row(table.attrs, table.index[row])
    return DataProblem(f"{where}: no {other} has the choices of this {name}; expected one {other} of each {name}")
