"""The score without each layer: bars, whiskers and the baseline, for few layers and for many."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from headcount.reporting.layer_figure import draw_layers


def rows(scores: list[float], baseline: float, wide: float = 0.02) -> dict[str, Any]:
    """A sweep by layer as a page has it; `low` and `high` are the ends of the change."""
    return {
        "name": "layer-zero",
        "metric": "accuracy",
        "baseline": baseline,
        "rows": [
            {
                "layer": f"L{number}",
                "score": score,
                "delta": score - baseline,
                "low": score - baseline - wide,
                "high": score - baseline + wide,
                "q": 0.5,
            }
            for number, score in enumerate(scores)
        ],
    }


def test_the_whiskers_are_the_intervals() -> None:
    ax = draw_layers(Figure(), rows([0.6, 0.7], 0.8)).axes[0]
    (whiskers,) = [one for one in ax.collections if hasattr(one, "get_segments")]
    np.testing.assert_allclose([segment[:, 1] for segment in whiskers.get_segments()], [[0.58, 0.62], [0.68, 0.72]])


def test_the_baseline_is_in_sight() -> None:
    """Where every layer is needed, the baseline stands above all bars."""
    low, high = draw_layers(Figure(), rows([0.55, 0.6], 0.9)).axes[0].get_ylim()
    assert low <= 0.9 <= high


def test_layers_that_change_nothing() -> None:
    """All bars end at the baseline, and there is room around it."""
    ax = draw_layers(Figure(), rows([0.8, 0.8], 0.8, wide=0.0)).axes[0]
    assert [bar.get_height() for bar in ax.patches] == [0.8, 0.8]
    low, high = ax.get_ylim()
    assert low < 0.8 < high
    assert high - low > 0.01


def test_many_layers_fit() -> None:
    figure = draw_layers(Figure(layout="constrained"), rows([0.5 + number / 100 for number in range(30)], 0.7))
    figure.savefig(io.BytesIO(), format="png")
    assert {label.get_rotation() for label in figure.axes[0].get_xticklabels()} == {90}
