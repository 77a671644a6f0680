"""A figure for papers: one number of the heads against another, with their rank correlation and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headcount.core.statistics import rank_correlation
from headcount.reporting.colourings import Colouring
from headcount.reporting.figure_colours import ORDERS
from headcount.reporting.view import View
from headcount.story.names import spell_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^")
NAMED = 5
"""Heads with their names: those furthest from the others."""
FEWEST = 3
"""Heads that a correlation needs."""


def draw_scatter(figure: Figure, view: View, x: Colouring, y: Colouring) -> Figure:
    """A point for each head that has both numbers; the heads that lie furthest from the middle have names."""
    figure.set_size_inches(4.6, 3.8)
    ax = figure.subplots()
    across, up = (np.array([np.nan if value is None else value for value in one["values"]]) for one in (x, y))
    known = np.isfinite(across) & np.isfinite(up)
    heads = list(view.layout)
    stacks = [stack for stack, layers in view.layout.stacks.items() if layers]
    for number, stack in enumerate(stacks):
        rows = known & np.array([head.stack == stack for head in heads])
        ax.plot(
            across[rows],
            up[rows],
            MARKERS[number % len(MARKERS)],
            color=ORDERS[number % len(ORDERS)],
            markersize=4,
            alpha=0.75,
            markeredgewidth=0,
            label=stack,
        )
    for colouring, line in ((x, ax.axvline), (y, ax.axhline)):
        if colouring["kind"] == "diverging":
            line(colouring.get("centre") or 0, color="#9aa3ad", linewidth=0.8, zorder=0)
    ax.margins(0.09)
    for place in _furthest(across, up, known):
        is_right = across[place] > np.mean(ax.get_xlim())  # its name lies towards the middle
        ax.annotate(
            view.layout.spell(heads[place]),
            (across[place], up[place]),
            xytext=(-3 if is_right else 3, 3),
            ha="right" if is_right else "left",
            textcoords="offset points",
            fontsize=6.5,
        )
    ax.set_xlabel(axis_label(x), fontsize=8, wrap=True, parse_math=False)
    ax.set_ylabel(axis_label(y), fontsize=8, wrap=True, parse_math=False)
    ax.tick_params(labelsize=7)
    if len(stacks) > 1:
        ax.legend(fontsize=7, frameon=False)
    count = int(known.sum())
    said = f"{count} heads"
    if count >= FEWEST:
        said = f"rank correlation {spell_interval(rank_correlation(across, up), 2)}, {said}"
    ax.set_title(said, fontsize=8)
    return figure


def axis_label(colouring: Colouring) -> str:
    """The title of a number with its unit, unless the title says it.

    >>> axis_label({"title": "Entropy", "unit": "nats"}), axis_label({"title": "Change of BLEU", "unit": "BLEU"})
    ('Entropy (nats)', 'Change of BLEU')
    """
    title, unit = str(colouring["title"]), str(colouring["unit"])
    return title if not unit or unit.lower() in title.lower() else f"{title} ({unit})"


def _furthest(across: np.ndarray, up: np.ndarray, known: np.ndarray) -> list[int]:
    """The places of the points that lie furthest from the medians, in units of the spread of each number."""
    places = np.flatnonzero(known)
    if not len(places):
        return []
    apart = np.zeros(len(places))
    for values in (across[places], up[places]):
        apart += ((values - np.median(values)) / (values.std() or 1.0)) ** 2
    return [int(place) for place in places[np.argsort(-apart, kind="stable")[:NAMED]]]
