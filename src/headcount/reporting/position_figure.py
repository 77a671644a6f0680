"""A figure for papers: the heads that matter most when they are patched at single positions, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.core.claims import LEVEL
from headcount.reporting.figure_colours import scale_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST, ROW = 24, 0.22
"""Heads at most, and the height of each in inches."""


def draw_positions(figure: Figure, told: dict[str, Any], names: list[str]) -> Figure:
    """A row for each head, a column for each position, a dot where the effect is significant."""
    centre = told.get("centre", 0)
    values, q = (np.array(told[key], dtype=float) for key in ("values", "q"))
    strength = np.nanmax(np.abs(values - centre), axis=1)
    rows = np.sort(np.argsort(-strength, kind="stable")[:MOST])
    figure.set_size_inches(max(4.5, 0.45 * values.shape[1] + 2.4), ROW * len(rows) + 1.8)
    ax = figure.subplots()
    known = {"values": list(values[np.isfinite(values)]), "centre": centre, "kind": "diverging", "unit": told["unit"]}
    image = ax.imshow(values[rows], **scale_of(known | {"higher": told["higher"]}).options, aspect="auto")
    for row, place in np.argwhere(q[rows] < LEVEL):
        ax.plot(place, row, "o", color="white", markeredgecolor="black", markersize=4)
    ax.set_yticks(range(len(rows)), labels=[names[told["heads"][row]] for row in rows], fontsize=7)
    # Names are data: a dollar sign in them is no formula.
    places = range(len(told["positions"]))
    ax.set_xticks(places, labels=told["positions"], fontsize=7, rotation=45, ha="right", parse_math=False)
    ax.set_xlabel("position")
    figure.colorbar(image, ax=ax).set_label(told["unit"], fontsize=7)
    figure.suptitle(f"{told['title']}, at one position", fontsize=8, wrap=True, parse_math=False)
    return figure
