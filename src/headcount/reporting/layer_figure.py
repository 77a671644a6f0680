"""A figure for papers: the score without each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_layers(figure: Figure, sweep: dict[str, Any]) -> Figure:
    """The score without each layer, or with that of another input, with intervals, and the baseline."""
    rows, base = sweep["rows"], sweep["baseline"]
    figure.set_size_inches(max(3.5, 0.35 * len(rows) + 1.2), 2.8)
    ax = figure.subplots()
    score = np.array([row["score"] for row in rows])
    ends = np.array([[row["score"] - base - row["low"], row["high"] - row["score"] + base] for row in rows]).T
    ax.bar(range(len(rows)), score, yerr=np.maximum(ends, 0), color="#5b7fa6", error_kw={"linewidth": 0.8})
    ax.axhline(base, color="#d55e00", linewidth=1.5, label=f"baseline {base:.3f}")
    low, high = min(base, float(np.min(score - ends[0]))), max(base, float(np.max(score + ends[1])))
    room = high - low or 0.1
    ax.set_ylim(low - 0.15 * room, high + 0.1 * room)
    ax.set_xticks(
        range(len(rows)), labels=[row["layer"] for row in rows], fontsize=7, rotation=90 if len(rows) > 16 else 0
    )
    patched = sweep.get("patched")
    ax.set_xlabel(f"layer of the {patched['given']} input" if patched else "layer left out")
    ax.set_ylabel(sweep["metric"])
    ax.legend(fontsize=7, frameon=False)
    return figure
