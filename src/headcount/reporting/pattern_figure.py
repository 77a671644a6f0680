"""A figure for papers: the shares of patterns among all maps and in each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.reporting.palette import PATTERNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_patterns(figure: Figure, patterns: dict[str, Any]) -> Figure:
    """Shares of patterns among all maps and in each layer, below published shares if there are some."""
    rows: list[tuple[str, list[float]]] = []
    published = patterns["published"]
    if published is not None:
        rows.append((published["source"].replace(", Figure", ",\nFigure"), published["share"]))
    for stack in patterns["stacks"]:
        suffix = f" ({stack['stack']})" if len(patterns["stacks"]) > 1 else ""
        rows.append((f"all maps{suffix}", stack["share"]))
        rows += [(f"L{number}{suffix}", share) for number, share in enumerate(stack["layers"]) if share is not None]
    figure.set_size_inches(5.6, 0.24 * len(rows) + 1.1)
    ax = figure.subplots()
    start = np.zeros(len(rows))
    for kind, name in enumerate(patterns["names"]):
        share = 100 * np.array([shares[kind] for _, shares in rows])
        ax.barh(range(len(rows)), share, left=start, height=0.8, color=PATTERNS[kind], label=name)
        start += share
    ax.set_yticks(range(len(rows)), labels=[name for name, _ in rows], fontsize=7)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("maps (%)")
    figure.legend(*ax.get_legend_handles_labels(), fontsize=7, frameon=False, ncols=5, loc="outside upper center")
    return figure
