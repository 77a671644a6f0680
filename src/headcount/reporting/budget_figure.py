"""A figure for papers: the score against the measured speed at a budget, and what is left of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.17
"""The height of a layer in inches."""
GREY = "#9a9a9a"
TITLES = {"heads": "heads left", "units": "units left"}


def draw_budget(figure: Figure, told: dict[str, Any], colours: Sequence[str]) -> Figure:
    """The curves on the held-out half and, below, the heads and units of each layer at the selected step, if any."""
    stacks = list(dict.fromkeys(block["stack"] for block in told["blocks"]))
    deepest = max(sum(block["stack"] == stack for block in told["blocks"]) for stack in stacks)
    if told["chosen"] is None:
        figure.set_size_inches(5.0, 3.2)
        _draw_curves(figure.subplots(), told, colours)
        return figure
    below = ROW * deepest + 0.7
    figure.set_size_inches(max(5.0, 2.6 * len(stacks)), 3.2 + below)
    parts: Any = figure.subfigures(2, 1, height_ratios=[3.2, below])
    _draw_curves(parts[0].subplots(), told, colours)
    axes = parts[1].subplots(1, 2 * len(stacks), squeeze=False)[0]
    for at, stack in enumerate(stacks):
        for ax, kind in zip(axes[2 * at : 2 * at + 2], TITLES, strict=True):
            _draw_left(ax, told, stack if len(stacks) > 1 else "", stack, kind)
    return figure


def _draw_curves(ax: Axes, told: dict[str, Any], colours: Sequence[str]) -> None:
    """A line for each order from the whole model on, random orders as a band; the selected step has a ring."""
    measured = any(value is not None for line in told["lines"] for value in line["speed"])
    axis, whole = "speed" if measured else "operations", 1.0
    base, low, high = told["baseline"]
    ax.axhline(base, color="black", linewidth=0.6, linestyle="--")
    if low is not None and high is not None:
        ax.axhspan(low, high, color="black", alpha=0.06, linewidth=0)
    randoms = [line for line in told["lines"] if line["order"].startswith("random")]
    if randoms:
        x = np.array([[whole, *line[axis]] for line in randoms], dtype=float)
        y = np.array([[base, *line["score"]] for line in randoms], dtype=float)
        there = np.isfinite(x).any(0) & np.isfinite(y).any(0)
        x, y = np.nanmean(x[:, there], 0), y[:, there]
        ax.fill_between(x, np.nanmin(y, 0), np.nanmax(y, 0), color=GREY, alpha=0.25, linewidth=0)
        ax.plot(x, np.nanmean(y, 0), color=GREY, label="random")
    named = [line for line in told["lines"] if line not in randoms]
    for line, colour in zip(named, list(colours) * (1 + len(named) // len(colours)), strict=False):
        x = np.array([whole, *line[axis]], dtype=float)
        y, below, above = (np.array([base, *line[key]], dtype=float) for key in ("score", "low", "high"))
        ax.fill_between(x, below, above, color=colour, alpha=0.15, linewidth=0)
        ax.plot(x, y, "o-", color=colour, markersize=3, label=line["order"])
    first, chosen = told["lines"][0], told["chosen"]
    if chosen is not None and first[axis][chosen] is not None:
        at = (first[axis][chosen], first["score"][chosen])
        ax.plot(*at, "o", markersize=9, fillstyle="none", color="black", label=f"selected ({told['budget']})")
    said = told["said"][axis]
    ax.set_xlabel(f"{said['title']} ({said['unit']})", parse_math=False)
    if axis == "operations":
        ax.invert_xaxis()  # smaller models to the right, as with speed
    ax.set_ylabel(f"{told['metric']}, held-out half", parse_math=False)
    ax.legend(fontsize=7, frameon=False)


def _draw_left(ax: Axes, told: dict[str, Any], title: str, stack: str, kind: str) -> None:
    """A bar for each layer of a stack: how many of its heads or units are left, before a bar of all of them."""
    rows = [index for index, block in enumerate(told["blocks"]) if block["stack"] == stack]
    whole = np.array([told["blocks"][index][kind] or 0 for index in rows], dtype=float)
    if not whole.any():
        ax.set_axis_off()
        return
    left = np.array([told["lines"][0][kind][told["chosen"]][index] or 0 for index in rows], dtype=float)
    ax.barh(range(len(rows)), whole, color="#d5dae0", height=0.75)
    ax.barh(range(len(rows)), left, color="#5b7fa6", height=0.75)
    ax.set_yticks(range(len(rows)), labels=[f"L{told['blocks'][index]['layer']}" for index in rows], fontsize=6)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.locator_params(axis="x", nbins=4, integer=True)
    ax.tick_params(axis="x", labelsize=7)
    ax.set_xlabel(TITLES[kind], fontsize=8)
    if title:
        ax.set_title(title, fontsize=8)
