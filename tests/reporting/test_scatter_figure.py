"""One number against another: a point for each head that has both, and their rank correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from headcount.core.heads import Layout
from headcount.reporting.scatter_figure import draw_scatter
from headcount.reporting.view import View
from tests.reporting.drawn import cut_texts

LAYOUT = Layout.even({"encoder": (3, 4)})
X = np.random.default_rng(0).normal(size=12)


def told(title: str, values: list[float | None]) -> dict[str, Any]:
    return {"title": title, "unit": "nats", "kind": "sequential", "values": values}


def points(figure: Figure) -> set[tuple[float, float]]:
    lines = [line for line in figure.axes[0].lines if line.get_marker() not in ("", "None")]
    return {(float(x), float(y)) for line in lines for x, y in zip(*line.get_data(), strict=True)}


def test_a_point_for_each_head_and_the_correlation() -> None:
    x, y = list(X), [*(X[:11] + 1), None]
    figure = draw_scatter(Figure(layout="constrained"), View("s", {}, (), LAYOUT), told("X", x), told("Y", y))
    assert points(figure) == {(a, a + 1) for a in X[:11]}
    assert "rank correlation 1.00" in figure.axes[0].get_title()
    assert "11 heads" in figure.axes[0].get_title()
    assert figure.axes[0].get_xlabel() == "X (nats)"
    assert cut_texts(figure) == []


def test_the_correlation_is_spearmans() -> None:
    y = X**2
    figure = draw_scatter(Figure(), View("s", {}, (), LAYOUT), told("X", list(X)), told("Y", list(y)))
    assert f"rank correlation {spearmanr(X, y).statistic:.2f} [" in figure.axes[0].get_title()


@pytest.mark.parametrize("known", [0, 1, 2])
def test_too_few_heads_for_a_correlation(known: int) -> None:
    values = [*X[:known], *[None] * (12 - known)]
    figure = draw_scatter(Figure(), View("s", {}, (), LAYOUT), told("X", values), told("Y", values))
    assert figure.axes[0].get_title() == f"{known} heads"


def test_the_furthest_heads_have_names() -> None:
    values = [0.01 * number for number in range(12)]
    values[7] = 5.0
    figure = draw_scatter(Figure(layout="constrained"), View("s", {}, (), LAYOUT), told("X", values), told("Y", values))
    assert figure.axes[0].texts[0].get_text() == "L1H3"
    assert cut_texts(figure) == []


def test_stacks_have_markers_of_their_own() -> None:
    layout = Layout.even({"encoder": (1, 2), "decoder": (1, 2), "cross": (1, 2)})
    values: list[float | None] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    figure = draw_scatter(Figure(), View("s", {}, (), layout), told("X", values), told("Y", values))
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["encoder", "decoder", "cross"]
