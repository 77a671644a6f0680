"""Heads as squares: nothing is cut for any number of layers and heads; kinds are counted; removed heads are grey."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from headcount.core.heads import Layout
from headcount.reporting.heads_figure import draw_heads, draw_kinds
from headcount.reporting.view import View
from tests.reporting.drawn import cut_texts, drawn, numbers_view

SIZES = [(1, 1), (1, 32), (6, 8), (12, 12), (24, 4), (24, 16), (48, 25), (48, 2)]


@pytest.mark.parametrize(("layers", "heads"), SIZES)
def test_nothing_is_cut(layers: int, heads: int) -> None:
    figure = drawn(numbers_view(layers, heads), "special.sep")
    assert cut_texts(figure) == []
    box = figure.axes[0].bbox
    assert box.width / heads == pytest.approx(box.height / layers), "heads are squares"


@pytest.mark.parametrize(("layers", "heads"), SIZES)
@pytest.mark.parametrize("unit", ["f1", "share of the difference in log_probability"])
def test_no_baseline_is_cut(layers: int, heads: int, unit: str) -> None:
    view = View("study", {}, (), Layout.even({"encoder": (layers, heads)}))
    values = [-0.01 * (number % 3) for number in range(layers * heads)]
    told = {"title": f"Change of {unit}", "says": "", "unit": unit, "kind": "diverging", "values": values}
    for baseline, change in ((1234.567, 1.0), (4.16, 1e-4), (0.5, 1.0)):
        scaled = [change * value for value in values]
        figure = draw_heads(Figure(), view, told | {"baseline": baseline, "higher": True, "values": scaled})
        assert cut_texts(figure) == []


@pytest.mark.parametrize(("layers", "heads"), SIZES)
def test_no_kind_is_cut(layers: int, heads: int) -> None:
    view = View("study", {}, (), Layout.even({"encoder": (layers, heads)}))
    names = ["previous token", "the same word in the other text of the pair", "mixed"]
    values = [number % 3 for number in range(layers * heads)]
    told = {"title": "What it does", "says": "", "names": names, "none": 2, "values": values, "unit": ""}
    figure = draw_kinds(Figure(), view, told, "a model")
    assert cut_texts(figure) == []
    (legend,) = figure.legends
    counts = [values.count(kind) for kind in range(3)]
    assert [text.get_text() for text in legend.get_texts()] == [
        f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count
    ]


def test_removed_heads_are_grey_and_others_are_not() -> None:
    view = View("study", {}, (), Layout({"encoder": ((0, 2), (1,))}))
    told = {"title": "t", "says": "", "values": [-0.1, 0.2, 0.0], "unit": "u", "kind": "diverging"}
    figure = draw_heads(Figure(), view, told, "a model")
    square = np.ma.filled(figure.axes[0].images[0].get_array().astype(float), np.nan)
    assert np.isnan(square).tolist() == [[False, True, False], [True, False, True]]
    assert figure.axes[0].get_facecolor()[:3] != (1, 1, 1), "white would be no effect"
    assert "grey: removed" in "".join(text.get_text() for text in figure.texts)


def test_a_head_that_was_not_run_is_said_to_be_so() -> None:
    view = View("study", {}, (), Layout.even({"encoder": (2, 2)}))
    told = {"title": "t", "says": "", "values": [0.1, None, 0.0, 0.3], "unit": "u", "kind": "sequential"}
    figure = draw_heads(Figure(), view, told | {"unknown": "not run"})
    assert "grey: not run" in "".join(text.get_text() for text in figure.texts)


def test_significance_is_said_either_way() -> None:
    view = View("study", {}, (), Layout.even({"encoder": (1, 2)}))
    told = {"title": "t", "says": "", "values": [0.1, 0.2], "unit": "u", "kind": "diverging"}
    for q, said, dots in (([0.01, 0.5], "dot: q < 0.05", 1), ([0.2, 0.5], "no head has q < 0.05", 0)):
        figure = draw_heads(Figure(), view, told | {"q": q})
        assert said in "".join(text.get_text() for text in figure.texts)
        assert len(figure.axes[0].lines) == dots
