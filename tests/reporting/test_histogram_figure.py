"""How many heads have which score when they are ablated."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from headcount.reporting.histogram_figure import draw_histogram


def test_the_change_is_added_to_the_baseline() -> None:
    ax = draw_histogram(Figure(), {"values": [0.1, None], "baseline": 0.5, "unit": "accuracy"}).axes[0]
    (bar,) = [one for one in ax.patches if one.get_height()]
    assert bar.get_height() == 1
    assert bar.get_x() + bar.get_width() / 2 == pytest.approx(0.6, abs=bar.get_width())
