"""Figures as the tests read them: their numbers, and whether anything is cut."""

from __future__ import annotations

import io

import numpy as np
import xarray as xr
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.reporting.figure import Asked, choose_drawing
from headcount.reporting.view import View, find_layout


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def drawn(view: View, what: str, asked: Asked | None = None) -> Figure:
    figure: Figure = choose_drawing(view, what, asked)(Figure(layout="constrained"))
    figure.savefig(io.BytesIO(), format="png")
    return figure


def squares(figure: Figure) -> list[np.ndarray]:
    return [np.ma.filled(ax.images[0].get_array().astype(float), np.nan) for ax in figure.axes if ax.images]


def bars(figure: Figure) -> dict[str, list[float]]:
    """The widths of each row's parts, by its label; asserts that they lie end to end."""
    ax = figure.axes[0]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    kinds = [list(one) for one in ax.containers]
    for row in range(len(labels)):
        starts = np.cumsum([0, *(kind[row].get_width() for kind in kinds)])
        np.testing.assert_allclose([kind[row].get_x() for kind in kinds], starts[:-1], atol=1e-6)
    return {label: [float(kind[row].get_width()) for kind in kinds] for row, label in enumerate(labels)}


def numbers_view(layers: int, heads: int) -> View:
    """A measure of so many layers and heads, each with its own value."""
    layout = Layout.even({"encoder": (layers, heads)})
    values = by_head({head: number / 1000 for number, head in enumerate(layout)}, layout)
    return view_of({"measures/special": xr.Dataset({"sep": (HEAD_DIMS, values)}, coords=head_coords(layout))})


def cut_texts(figure: Figure) -> list[str]:
    """The texts that do not lie within the figure; ticks outside the limits of their axis are not drawn."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    hidden = {label for axis in figure.findobj(Axis) for label in _unseen(axis)}
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in hidden:
            box = text.get_window_extent(renderer)
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.width + 1
            if not inside or box.y1 > figure.bbox.height + 1:
                found.append(text.get_text())
    return found


def _unseen(axis: Axis) -> list[Text]:
    low, high = sorted(axis.get_view_interval())
    room = 1e-6 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    outside = [tick for tick in ticks if not low - room <= tick.get_loc() <= high + room]
    return [label for tick in outside for label in (tick.label1, tick.label2)]
