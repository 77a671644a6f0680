"""The figure of relations: every mark at its value, every row with its head, names as they are written."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headcount.reporting.figure import choose_drawing
from tests.reporting.probed import ACCURACY, BASELINES, WIDE, arcs, both, coreference, view_of

ORDER = (1, 0, 2, 3)
"""By gain."""


def drawn(view: Any, what: str = "relations") -> tuple[Figure, Axes]:
    figure = choose_drawing(view, what)(Figure(layout="constrained"))
    figure.savefig(io.BytesIO(), format="png")
    return figure, figure.axes[0]


def test_marks_and_intervals_are_the_studys() -> None:
    figure, ax = drawn(both())
    points = {str(line.get_label()): np.asarray(line.get_xdata()) for line in ax.lines}
    expected = {"Best head": ACCURACY, "Nearest mention": BASELINES["nearest"], "Rules": BASELINES["rules"]}
    for title, values in expected.items():
        np.testing.assert_allclose(points[title], np.take(values, ORDER), rtol=1e-3)
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends.mean(1), np.take(ACCURACY, ORDER), rtol=1e-3)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 2 * WIDE, rtol=1e-2)
    assert len({line.get_marker() for line in ax.lines}) == len({line.get_color() for line in ax.lines}) == 4
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["Best head", "Nearest mention"]


def test_every_row_names_its_relation_and_head() -> None:
    _, ax = drawn(both())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["pronoun", "all", "proper", "nominal"]
    assert [text.get_text() for text in ax.texts] == ["L1H0 →", "L0H1 →", "L1H1 ←", "L0H0 →"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the largest gain is on top"
    assert "share of the mentions" in ax.get_xlabel()


def test_names_are_no_formulas() -> None:
    names = ("all", "$\\frac{$", "a_b^c", "<b>")
    _, ax = drawn(view_of({"probe/odd": coreference(names)}))
    assert {label.get_text() for label in ax.get_yticklabels()} == set(names)


def test_of_several_results_each_has_its_figure() -> None:
    view = view_of(
        {"probe/a": coreference(), "probe/b": coreference(("all", "x", "y", "z")), "arcs/a": arcs()},
    )
    assert "pronoun" in [label.get_text() for label in drawn(view)[1].get_yticklabels()]
    assert "x" in [label.get_text() for label in drawn(view, "relations.b")[1].get_yticklabels()]
