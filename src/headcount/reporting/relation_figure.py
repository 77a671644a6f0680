"""A figure for papers: the best head of each relation with its interval, beside its baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = ("|", "D", "^", "s", "P", "v")
"""The shapes of the page: the first baseline, which the gain is above, is a tick."""
SIZES = (13, 4.5, 5.5, 5, 6, 5.5)
ARROWS = ("→", "←")
ROW = 0.24
"""Height of a relation in inches."""


def draw_relations(figure: Figure, probed: dict[str, Any], colours: Sequence[str]) -> Figure:
    """A row for each relation, the largest gain on top: a dot for its best head, whose name is on the right."""
    rows = probed["rows"]
    figure.set_size_inches(5.8, ROW * len(rows) + 1.3)
    ax = figure.subplots()
    places = list(range(len(rows)))
    for number, baseline in enumerate(probed["baselines"]):
        values = np.array([row["baselines"][number][0] for row in rows], dtype=float)
        kind = number % len(MARKERS)
        ax.plot(
            values,
            places,
            MARKERS[kind],
            color=colours[1 + number % (len(colours) - 1)],
            markersize=SIZES[kind],
            markeredgewidth=2 if MARKERS[kind] == "|" else 0,
            label=baseline["title"],
            clip_on=False,  # a share of 0 lies on the axis
        )
    value, low, high = np.array([row["accuracy"] for row in rows], dtype=float).T
    ax.hlines(places, low, high, color=colours[0], linewidth=1.2)
    ax.plot(value, places, "o", color=colours[0], markersize=5, label=probed["accuracy"]["title"])
    # Names are data: a dollar sign in them is no formula.
    ax.set_yticks(places, labels=[row["relation"] for row in rows], fontsize=8, parse_math=False)
    beside = ax.get_yaxis_transform()
    for place, row in zip(places, rows, strict=True):
        ax.text(1.015, place, _spell_head(row), transform=beside, va="center", fontsize=8, parse_math=False)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.grid(axis="x", linewidth=0.4, color="#d5dae0")
    ax.set_axisbelow(True)
    ax.tick_params(axis="x", labelsize=8)
    said = probed["accuracy"]["unit"]
    if any(row["direction"] is not None for row in rows):
        ways = [f"{arrow} {words}" for arrow, words in zip(ARROWS, probed["directions"], strict=False)]
        said = f"{said}\n{', '.join(ways)}"
    ax.set_xlabel(said, fontsize=8, parse_math=False)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles[-1:] + handles[:-1],
        labels[-1:] + labels[:-1],
        fontsize=7,
        frameon=False,
        ncols=4,
        loc="outside upper center",
    )
    return figure


def _spell_head(row: dict[str, Any]) -> str:
    direction = row["direction"]
    arrow = ARROWS[direction] if direction is not None and direction < len(ARROWS) else ""
    return f"{row['spelled']} {arrow}".strip()
