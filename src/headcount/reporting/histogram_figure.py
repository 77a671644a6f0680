"""A figure for papers: how many heads have which score when they are ablated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headcount.reporting.colourings import Colouring

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_histogram(figure: Figure, colouring: Colouring) -> Figure:
    """A histogram of the scores with one head ablated."""
    figure.set_size_inches(4.2, 2.6)
    ax = figure.subplots()
    base = colouring["baseline"]
    values = np.array([value for value in colouring["values"] if value is not None]) + base
    ax.hist(values, bins=24, color="#5b7fa6")
    ax.axvline(base, color="#d55e00", linewidth=1.5, linestyle="--", label=f"baseline {base:.3f}")
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(f"{colouring['unit']} without the head")
    ax.set_ylabel("heads")
    ax.legend(fontsize=7, frameon=False)
    return figure
