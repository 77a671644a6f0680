"""A figure for papers: the score as heads are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.reporting.figure_colours import ORDERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_curve(figure: Figure, curve: dict[str, Any]) -> Figure:
    """The score against the share of removed heads for every order, random orders as a band, and a published curve."""
    figure.set_size_inches(4.6, 3.2)
    ax = figure.subplots()
    gone, base = np.array([0, *curve["removed"]]) / curve["heads"], curve["baseline"]
    published = curve["published"]
    if published is not None:
        ax.plot(published["gone"], published["score"], ":", color="gray", label=published["source"])
    randoms = [line["score"] for line in curve["lines"] if line["order"].startswith("random")]
    if randoms:
        scores = np.array([[base, *line] for line in randoms], dtype=float)
        ax.fill_between(gone, scores.min(0), scores.max(0), color="gray", alpha=0.25)
        ax.plot(gone, scores.mean(0), color="gray", label="random")
    named = [line for line in curve["lines"] if not line["order"].startswith("random")]
    for line, colour in zip(named, ORDERS * (1 + len(named) // len(ORDERS)), strict=False):
        score, low, high = (np.array([base, *line[key]], dtype=float) for key in ("score", "low", "high"))
        ax.fill_between(gone, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(gone, score, "o-", color=colour, markersize=3, label=line["order"])
    ax.axhline(base, color="black", linewidth=0.6, linestyle="--")
    ax.set_xlabel(f"{curve['said']['removed']['title']} (share)")
    ax.set_ylabel(curve["metric"])
    ax.legend(fontsize=7, frameon=False)
    return figure
