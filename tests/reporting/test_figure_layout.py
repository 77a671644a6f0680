"""Panels have their size, and titles and captions of any length have room."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from headcount.reporting.figure_layout import longest, place_panels, token_fonts, wrapped, write_caption
from tests.reporting.drawn import cut_texts

LONG = "a caption that goes on " * 20


@pytest.mark.parametrize("sizes", [[(0.3, 0.3)], [(2.0, 5.0), (1.0, 2.0)], [(9.0, 0.5)]])
def test_panels_have_their_size_and_nothing_is_cut(sizes: list[tuple[float, float]]) -> None:
    figure = Figure(dpi=100)
    axes, bar = place_panels(figure, sizes, title=LONG, caption=LONG)
    found = [(ax.bbox.width / 100, ax.bbox.height / 100) for ax in axes]
    assert found == [pytest.approx(size) for size in sizes]
    assert bar is not None
    assert cut_texts(figure) == []


def test_a_dollar_sign_is_no_formula() -> None:
    figure = Figure()
    place_panels(figure, [(2.0, 2.0)], title="costs $5 and $6", caption="$x", beside=(0.2, 0.5))
    assert cut_texts(figure) == []
    assert figure.get_suptitle() == "costs $5 and $6"


def test_a_figure_grows_by_its_caption() -> None:
    figure = Figure(figsize=(4, 3), layout="constrained")
    figure.subplots().set_xlabel("x")
    write_caption(figure, LONG)
    assert figure.get_size_inches()[1] > 3.3
    assert cut_texts(figure) == []
    assert write_caption(Figure(figsize=(4, 3)), "").get_size_inches()[1] == 3


def test_lines_are_wrapped_and_kept() -> None:
    assert wrapped("one\ntwo", 5, 10) == "one\ntwo"
    assert max(map(len, wrapped(LONG, 4, 7).splitlines())) < 70


def test_tokens_are_measured() -> None:
    assert longest(["mmmm"], 8) > longest(["iiii"], 8) > 0
    assert longest([], 8) == longest([""], 8) == 0
    assert longest(["\u6f22\U0001f389"], 8) > 0, "characters that no font has are measured without a warning"
    assert token_fonts()[0] == "DejaVu Sans"
