"""Figures for papers: the right numbers in the right squares, files of the right kind, one clear line otherwise."""

from __future__ import annotations

import re
import sys
from pathlib import Path
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
from headcount.reporting.figure import choose_drawing, short_id
from headcount.reporting.view import View, read_view
from tests import planted
from tests.measures import tiny as measured
from tests.reporting import studies
from tests.reporting.drawn import bars, drawn, squares, view_of

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


def test_patterns_are_named_where_there_are_some(looks: Path, study: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InvalidOption, match=r"got the figure 'pattern'; this study has patterns, scatter, and \d+ variables such as"
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


def test_maps_alone_can_be_drawn(tmp_path: Path) -> None:
    studies.partial_study(tmp_path / "maps", "maps")
    with pytest.raises(InvalidOption, match="got the figure 'ablation'; this study has map, wall$"):
        hc.figure(tmp_path / "maps", "ablation", tmp_path / "fig.svg")
    hc.figure(tmp_path / "maps", "wall", tmp_path / "fig.svg")


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
