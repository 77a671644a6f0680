"""Figures for papers: the right numbers in the right squares, files of the right kind, one clear line otherwise."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

import headcount as hc
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.errors import CannotWrite, InvalidOption, MissingPackage, OutputTaken, StudyProblem
from headcount.reporting.colourings import find_colourings
from headcount.reporting.figure import (
    choose_drawing,
    draw_curve,
    draw_histogram,
    draw_layers,
    draw_patterns,
    short_id,
)
from headcount.reporting.view import View, find_layout, read_view
from tests import planted
from tests.measures import tiny as measured
from tests.reporting import studies

SIGNATURES = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def study(place: Path) -> Path:
    """Sweeps, importance, curves and a measure of a planted model."""
    tokenizer, texts, path = planted.tokenizer(place / "words"), planted.texts(60), place / "study"
    model = planted.classifier()
    for by in ("head", "layer"):
        hc.sweep(model, tokenizer, texts, task="sst2", how="zero", by=by, out=path)
    hc.choose(model, tokenizer, texts, task="sst2", keep=2, randoms=2, steps=2, study=path)
    hc.measure(model, tokenizer, texts[:8], text="sentence", only=("special",), out=path)
    return path


@pytest.fixture(scope="module")
def view(study: Path) -> View:
    return read_view(study)


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


@pytest.mark.parametrize("suffix", [*SIGNATURES, ".SVG"])
def test_files_of_the_right_kind(study: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"fig{suffix}"
    hc.figure(study, "ablation", out)
    content = out.read_bytes()
    assert content.startswith(SIGNATURES[suffix.lower()])
    if suffix == ".svg":
        assert b"<svg" in content
    if suffix == ".pdf":
        assert content.rstrip().endswith(b"%%EOF")
    assert [one.name for one in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize("what", ["layers", "histogram", "curve", "importance", "importance@prune.taylor"])
def test_every_figure_is_drawn(study: Path, tmp_path: Path, what: str) -> None:
    hc.figure(study, what, tmp_path / "fig.svg")
    assert (tmp_path / "fig.svg").stat().st_size > 5000


def drawn(view: View, what: str) -> Figure:
    figure: Figure = choose_drawing(view, what)(Figure(layout="constrained"))
    figure.savefig(io.BytesIO(), format="png")
    return figure


def squares(figure: Figure) -> list[np.ndarray]:
    return [np.ma.filled(ax.images[0].get_array().astype(float), np.nan) for ax in figure.axes if ax.images]


def test_the_heat_map_is_the_score_without_each_head(view: View) -> None:
    found = view.results["sweep/head-zero"]
    figure = drawn(view, "ablation")
    np.testing.assert_allclose(squares(figure)[0], found["score"].values[0], atol=1e-3)
    ax, bar = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("head", "layer")
    assert "accuracy" in bar.get_ylabel()
    low, high = bar.get_ylim()
    assert low <= float(found["baseline"]) <= high, "the line of the baseline is in the colour bar"
    dots = {(int(x), int(y)) for line in ax.lines for x, y in zip(*line.get_data(), strict=True)}
    sure = {(head, layer) for layer, head in zip(*np.nonzero(found["q"].values[0] < 0.05), strict=True)}
    assert dots == sure
    assert sure


def test_a_measure_has_no_baseline(view: View) -> None:
    figure = drawn(view, "special.sep")
    np.testing.assert_allclose(squares(figure)[0], view.results["measures/special"]["sep"].values[0], rtol=1e-3)
    assert figure.get_suptitle() == "Attention to [SEP]"
    assert "without" not in figure.axes[-1].get_ylabel()


def test_the_histogram_counts_every_head(view: View) -> None:
    figure = drawn(view, "histogram")
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == view.layout.count
    low, high = figure.axes[0].get_xlim()
    assert low <= float(view.results["sweep/head-zero"]["baseline"]) <= high


def test_the_bars_are_the_layers(view: View) -> None:
    found = view.results["sweep/layer-zero"]
    ax = drawn(view, "layers").axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["L0", "L1"]
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, found["score"].values[0], rtol=1e-3)


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


def test_the_curve_is_that_of_the_part_that_did_not_choose(view: View) -> None:
    found = view.results["pruning/curve@prune-confirming"]
    ax = drawn(view, "curve").axes[0]
    line = next(line for line in ax.lines if line.get_label() == "importance")
    np.testing.assert_allclose(line.get_ydata()[1:], found["score"].sel(order="importance").values, rtol=1e-3)


@pytest.fixture(scope="module")
def looks(place: Path) -> Path:
    """A study of patterns alone."""
    return studies.patterns_study(place / "looks")


@pytest.mark.parametrize("suffix", SIGNATURES)
def test_patterns_as_every_kind_of_file(looks: Path, tmp_path: Path, suffix: str) -> None:
    hc.figure(looks, "patterns", tmp_path / f"fig{suffix}")
    content = (tmp_path / f"fig{suffix}").read_bytes()
    assert content.startswith(SIGNATURES[suffix])
    assert len(content) > 3000


def bars(figure: Figure) -> dict[str, list[float]]:
    """The widths of each row's parts, by its label; asserts that they lie end to end."""
    ax = figure.axes[0]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    kinds = [list(one) for one in ax.containers]
    for row in range(len(labels)):
        starts = np.cumsum([0, *(kind[row].get_width() for kind in kinds)])
        np.testing.assert_allclose([kind[row].get_x() for kind in kinds], starts[:-1], atol=1e-6)
    return {label: [float(kind[row].get_width()) for kind in kinds] for row, label in enumerate(labels)}


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_bars_are_the_shares_of_patterns(looks: Path) -> None:
    view = read_view(looks)
    own = view.results["measures/patterns"]
    figure = drawn(view, "patterns")
    found = bars(figure)
    assert list(found) == ["all maps", "L0", "L1"]
    np.testing.assert_allclose(found["all maps"], 100 * own["whole_share"].values[0], rtol=1e-3)
    for layer in (0, 1):
        np.testing.assert_allclose(found[f"L{layer}"], 100 * own["share"].values[0, layer].mean(0), rtol=1e-3)
    assert legend_of(figure) == [str(one) for one in own["pattern"].values]
    ax = figure.axes[0]
    assert ax.get_xlim() == (0, 100)
    assert ax.yaxis_inverted(), "the first row is above"
    assert len({bar[0].get_facecolor() for bar in ax.containers}) == 5


def test_patterns_of_two_stacks() -> None:
    model, tokenizer = measured.translator()
    data = pd.DataFrame({"source": studies.sentences(4), "target": studies.sentences(4, seed=1)})
    tree = hc.measure(model, tokenizer, data, text=("source", "target"), only="patterns")
    found = bars(drawn(view_of({"measures/patterns": tree["patterns"].to_dataset()}), "patterns"))
    assert list(found) == [
        "all maps (encoder)",
        "L0 (encoder)",
        "L1 (encoder)",
        "L2 (encoder)",
        "all maps (decoder)",
        "L0 (decoder)",
        "L1 (decoder)",
    ]
    assert all(sum(row) == pytest.approx(100, abs=0.2) for row in found.values())


def test_a_papers_shares_stand_above() -> None:
    share = [0.4, 0.1, 0.2, 0.1, 0.2]
    told = {
        "names": list("abcde"),
        "published": {"source": "BERT, a paper, Figure 2", "share": share[::-1]},
        "stacks": [{"stack": "encoder", "share": share, "layers": [share, None, share]}],
    }
    found = bars(draw_patterns(Figure(layout="constrained"), told))
    assert list(found) == ["BERT, a paper,\nFigure 2", "all maps", "L0", "L2"]
    np.testing.assert_allclose(found["BERT, a paper,\nFigure 2"], [20, 10, 20, 10, 40])


def test_patterns_are_named_where_there_are_some(looks: Path, study: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InvalidOption, match=r"got the figure 'pattern'; this study has patterns, and \d+ variables such as"
    ):
        hc.figure(looks, "pattern", tmp_path / "fig.svg")
    with pytest.raises(InvalidOption, match="got the figure 'patterns'") as caught:
        hc.figure(study, "patterns", tmp_path / "fig.svg")
    assert "patterns" not in str(caught.value).split("this study has")[1]


def test_one_pattern_as_a_heat_map(looks: Path) -> None:
    view = read_view(looks)
    own = view.results["measures/patterns"]["share"].sel(pattern="diagonal").values[0]
    np.testing.assert_allclose(squares(drawn(view, "patterns.diagonal.share"))[0], own, rtol=1e-3)


def test_an_encoder_decoder_has_a_heat_map_for_each_stack() -> None:
    model, tokenizer = measured.translator()
    data = pd.DataFrame({"source": studies.sentences(10), "target": studies.sentences(10, seed=1)})
    found = hc.sweep(model, tokenizer, data, task="translation", metric="loss", how="uniform")
    view = view_of({"sweep/head-uniform": found})
    figure = drawn(view, "ablation")
    shapes = [one.shape for one in squares(figure)]
    assert shapes == [(3, 4), (2, 2), (2, 2)]
    for ax, square in zip(figure.axes, squares(figure), strict=False):
        stack = re.fullmatch(r"layer \((\w+)\)", ax.get_ylabel())
        assert stack is not None
        expected = found["score"].sel(stack=stack[1]).values[: square.shape[0], : square.shape[1]]
        np.testing.assert_allclose(square, expected, rtol=1e-3)


def test_one_stack_of_several() -> None:
    """A sweep of the cross attention alone: the other stacks have no heads to draw."""
    model, tokenizer = measured.translator()
    data = pd.DataFrame({"source": studies.sentences(6), "target": studies.sentences(6, seed=1)})
    found = hc.sweep(
        model, tokenizer, data, task="translation", metric="loss", by=hc.Every(stack="cross"), how="uniform"
    )
    figure = drawn(view_of({"sweep/head-uniform": found}), "ablation")
    square = next(one for one in squares(figure) if one.size and np.isfinite(one).any())
    np.testing.assert_allclose(square, found["score"].sel(stack="cross").values[:2, :2], rtol=1e-3)


def test_a_pruned_model_keeps_the_places_of_its_heads() -> None:
    layout = Layout({"encoder": ((0, 2, 3), (), (1,), ())})
    values = by_head({head: 0.1 * number for number, head in enumerate(layout)}, layout)
    view = view_of({"measures/special": xr.Dataset({"sep": (HEAD_DIMS, values)}, coords=head_coords(layout))})
    (square,) = squares(drawn(view, "special.sep"))
    np.testing.assert_allclose(square, values[0])
    assert np.isnan(square[1]).all()


def test_all_heads_alike() -> None:
    layout = Layout.even({"encoder": (2, 2)})
    values = by_head(dict.fromkeys(layout, 0.5), layout)
    view = view_of({"measures/special": xr.Dataset({"sep": (HEAD_DIMS, values)}, coords=head_coords(layout))})
    figure = drawn(view, "special.sep")
    (square,) = squares(figure)
    assert square.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    low, high = figure.axes[0].images[0].get_clim()
    assert low <= 0.5 <= high
    assert low < high, "a colour bar of no length has no numbers"


def test_one_head() -> None:
    layout = Layout.even({"encoder": (1, 1)})
    values = by_head(dict.fromkeys(layout, 0.5), layout)
    view = view_of({"measures/special": xr.Dataset({"sep": (HEAD_DIMS, values)}, coords=head_coords(layout))})
    assert squares(drawn(view, "special.sep"))[0].tolist() == [[0.5]]
    ax = draw_histogram(Figure(), {"values": [0.1, None], "baseline": 0.5, "unit": "accuracy"}).axes[0]
    (bar,) = [one for one in ax.patches if one.get_height()]
    assert bar.get_height() == 1
    middle = bar.get_x() + bar.get_width() / 2
    assert middle == pytest.approx(0.6, abs=bar.get_width()), "the change is added to the baseline"


def test_a_figure_that_there_is_not(study: Path, view: View, tmp_path: Path) -> None:
    """The usual ones are named, and a number that is spelled nearly so; all of them can be drawn."""
    with pytest.raises(InvalidOption) as caught:
        hc.figure(study, "special.spe", tmp_path / "fig.svg")
    said = str(caught.value)
    assert "'special.spe'; this study has ablation, histogram, layers, curve, importance" in said
    assert "special.sep" in said
    assert not list(tmp_path.iterdir())
    for what in re.findall(r"[\w@-]+\.\w+", said.split("this study has")[1]):
        assert callable(choose_drawing(view, what))


def test_a_figure_that_a_study_of_measures_has_not(view: View) -> None:
    only = view_of({"measures/special": view.results["measures/special"]})
    with pytest.raises(InvalidOption, match=r"got the figure 'ablation'; this study has .*special\.\w+"):
        choose_drawing(only, "ablation")


def test_short_names_are_distinct(view: View) -> None:
    metrics = find_colourings(view)
    names = [short_id(metric) for metric in metrics if metric["kind"] != "category"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["fig.jpg", "fig", "fig.svg.txt", ".svg"])
def test_names_that_end_otherwise(study: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidOption, match=r"ends in \.svg, \.pdf, \.png"):
        hc.figure(study, "ablation", tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be(study: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(OutputTaken, match="is a folder"):
        hc.figure(study, "ablation", tmp_path / "folder.svg")
    with pytest.raises(CannotWrite, match="there is no folder"):
        hc.figure(study, "ablation", tmp_path / "none" / "fig.svg")
    with pytest.raises(StudyProblem, match="there is no study folder"):
        hc.figure(tmp_path / "none", "ablation", tmp_path / "fig.svg")


def test_the_place_that_is_suggested_is_one(study: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(OutputTaken) as caught:
        hc.figure(study, "ablation", tmp_path / "folder.svg")
    suggested = re.search(r"such as (\S+)", str(caught.value))
    assert suggested is not None
    hc.figure(study, "ablation", suggested[1])


def test_nothing_to_draw(tmp_path: Path) -> None:
    studies.empty_study(tmp_path / "empty")
    with pytest.raises(StudyProblem, match="nothing to draw yet; run headcount sweep or headcount measure first"):
        hc.figure(tmp_path / "empty", "ablation", tmp_path / "fig.svg")
    assert [one.name for one in tmp_path.iterdir()] == ["empty"]


def test_maps_alone_are_nothing_to_draw(tmp_path: Path) -> None:
    studies.partial_study(tmp_path / "maps", "maps")
    with pytest.raises(StudyProblem, match="nothing to draw yet"):
        hc.figure(tmp_path / "maps", "ablation", tmp_path / "fig.svg")


def test_without_matplotlib(study: Path, tmp_path: Path) -> None:
    with (
        mock.patch.dict(sys.modules, {"matplotlib": None, "matplotlib.figure": None}),
        pytest.raises(MissingPackage, match=r"pip install 'headcount\[plot\]'"),
    ):
        hc.figure(study, "ablation", tmp_path / "fig.svg")
    assert not list(tmp_path.iterdir())


def test_an_earlier_figure_is_replaced_whole(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "fig.svg"
    out.write_text("of yesterday")
    with (
        mock.patch("matplotlib.figure.Figure.savefig", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        hc.figure(study, "ablation", out)
    assert out.read_text() == "of yesterday"
    hc.figure(study, "ablation", out)
    assert out.read_bytes().startswith(SIGNATURES[".svg"])
    assert [one.name for one in tmp_path.iterdir()] == ["fig.svg"]


def test_ablation_is_the_sweep_by_head(view: View) -> None:
    found = view.results["sweep/head-zero"]
    turned = found.assign(delta=-found["delta"]).assign_attrs(by="all-but-one")
    both = view_of({"sweep/all-but-one-zero": turned, "sweep/head-zero": found})
    np.testing.assert_allclose(squares(drawn(both, "ablation"))[0], found["score"].values[0], atol=1e-3)
