"""A figure for papers: the strongest interactions between two heads, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.core.claims import KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#7f7f7f", "#d55e00", "#0072b2")
"""Of no significant interaction, redundant and synergistic pairs, as on the page."""
MOST, ROW = 30, 0.2
"""Pairs at most, and the height of each in inches."""


def draw_pairs(figure: Figure, told: dict[str, Any], names: list[str]) -> Figure:
    """A row for each of the strongest pairs: a dot for its interaction, a line for its interval.

    In the metric or, if no pair interacts significantly in it but some do in the loss, in the loss.
    """
    tables = told["tables"]
    table = next((each for each in tables if any(row[2] for row in each["rows"])), tables[0])
    rows = sorted(table["rows"], key=lambda row: (row[2] == 0, -abs(row[3])))[:MOST]
    figure.set_size_inches(5.2, ROW * len(rows) + 1.2)
    ax = figure.subplots()
    kinds = np.array([row[2] for row in rows])
    value, low, high = np.array([row[3:6] for row in rows], dtype=float).T
    for kind, name in enumerate(KINDS):
        at = np.flatnonzero(kinds == kind)
        if len(at):
            ax.hlines(at, low[at], high[at], color=COLOURS[kind], linewidth=1.2)
            ax.plot(value[at], at, "o", color=COLOURS[kind], markersize=4.5, label=name)
    ax.axvline(0, color="#5c6570", linewidth=0.8)
    ax.set_yticks(range(len(rows)), labels=[f"{names[row[0]]} + {names[row[1]]}" for row in rows], fontsize=8)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="x", linewidth=0.4, color="#d5dae0")
    ax.set_axisbelow(True)
    ax.tick_params(axis="x", labelsize=8)
    ax.set_xlabel(f"interaction in {table['title']}, with 95 % interval", fontsize=8, parse_math=False)
    figure.legend(fontsize=7, frameon=False, ncols=3, loc="outside upper center")
    return figure
