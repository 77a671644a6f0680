"""The score as heads are removed: a line for each order from the whole model on."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headcount.reporting.curve_figure import draw_curve


def curve(*orders: str, published: bool = False, **more: Any) -> dict[str, Any]:
    lines = [
        {"order": order, "score": [0.8, 0.5 + number / 10], "low": [0.7, 0.4], "high": [0.9, 0.7], "p": [1, 1]}
        for number, order in enumerate(orders)
    ]
    printed = {"source": "a paper", "gone": [0.0, 0.5, 1.0], "score": [0.9, 0.8, 0.1]}
    return {
        "name": "curve",
        "metric": "accuracy",
        "task": "sst2",
        "baseline": 0.9,
        "heads": 8,
        "examples": 9,
        "removed": [2, 6],
        "said": {"removed": {"title": "Heads gone", "unit": ""}},
        "lines": lines,
        "published": printed if published else None,
    } | more


def test_a_curve_begins_with_the_whole_model() -> None:
    ax = draw_curve(Figure(), curve("importance", "random 1", "random 2", published=True)).axes[0]
    lines = {line.get_label(): line for line in ax.lines}
    assert {"importance", "random", "a paper"} <= set(lines)
    assert ax.get_xlabel() == "Heads gone (share)"
    np.testing.assert_allclose(lines["importance"].get_xdata(), [0, 0.25, 0.75])
    np.testing.assert_allclose(lines["importance"].get_ydata(), [0.9, 0.8, 0.5])
    np.testing.assert_allclose(lines["random"].get_ydata(), [0.9, 0.8, 0.65])
    assert "a paper" not in {line.get_label() for line in draw_curve(Figure(), curve("importance")).axes[0].lines}


def test_a_curve_of_many_orders_and_of_an_order_that_ends_early() -> None:
    one = curve(*[f"order {number}" for number in range(7)])
    one["lines"][3] |= {"score": [0.8, None], "low": [0.7, None], "high": [0.9, None]}
    figure = draw_curve(Figure(), one)
    figure.savefig(io.BytesIO(), format="svg")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == [f"order {number}" for number in range(7)]
