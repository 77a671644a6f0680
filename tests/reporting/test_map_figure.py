"""Maps for papers: the head's own weights beside their tokens, a scale that says what is drawn, nothing cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import headcount as hc
from headcount.core.heads import Head
from headcount.errors import InvalidOption, UnknownHead
from headcount.reporting.figure import Asked
from headcount.reporting.map_figure import PIXELS, SCALE, draw_before_after, draw_map, shrunk
from headcount.reporting.text_maps import TextMaps
from headcount.reporting.view import View, read_view
from tests.reporting import studies
from tests.reporting.drawn import cut_texts, drawn, squares, view_of


@pytest.fixture(scope="module")
def view() -> View:
    """Two texts of a model, the first of them before fine-tuning too."""
    model, tokenizer = studies.classifier()
    before, _ = studies.classifier(seed=9)
    model.config._name_or_path, before.config._name_or_path = "tuned", "base"
    return view_of(
        {
            "maps/text-0": hc.maps(model, tokenizer, studies.TEXT),
            "maps/text-0-before": hc.maps(before, tokenizer, studies.TEXT),
            "maps/text-1": hc.maps(model, tokenizer, "We slept."),
        }
    )


def own(view: View, name: str, layer: int, head: int) -> np.ndarray:
    return np.asarray((view.results[f"maps/{name}"]["maps_encoder"].values[layer, head] / 255) ** 2)


def many(tokens: list[str]) -> TextMaps:
    """A map of these tokens, each of which looks at itself."""
    packed = (255 * np.eye(len(tokens))).astype(np.uint8)[None, None]
    return TextMaps(
        "text-0",
        xr.Dataset(
            {
                "maps_encoder": (("layer", "head", "query", "key"), packed),
                "tokens": ("query", np.array(tokens, dtype=object)),
            },
            attrs={"text": " ".join(tokens), "model": "m"},
        ),
    )


def test_a_map_has_the_weights_the_tokens_and_a_scale(view: View) -> None:
    figure = drawn(view, "map", Asked(head="L1H2", text=1))
    np.testing.assert_allclose(squares(figure)[0], own(view, "text-1", 1, 2), atol=1e-6)
    ax, bar = figure.axes
    tokens = list(view.results["maps/text-1"]["tokens"].values)
    assert [label.get_text() for label in ax.get_xticklabels()] == tokens
    assert [label.get_text() for label in ax.get_yticklabels()] == tokens
    assert bar.get_ylabel().replace("\n", " ") == SCALE
    assert ax.images[0].get_clim() == (0, 1), "the scale is the same for all heads"
    assert ax.images[0].norm.gamma == 0.5
    assert "L1H2" in figure.get_suptitle()
    caption = figure.texts[-1].get_text()
    assert "tuned" in caption
    assert "We slept." in caption


def test_before_and_after_and_their_difference(view: View) -> None:
    figure = drawn(view, "before-after", Asked(head="L0H1"))
    maps = squares(figure)
    np.testing.assert_allclose(maps[0], own(view, "text-0-before", 0, 1), atol=1e-6)
    np.testing.assert_allclose(maps[1], own(view, "text-0", 0, 1), atol=1e-6)
    np.testing.assert_allclose(maps[2], maps[1] - maps[0], atol=1e-6)
    low, high = figure.axes[2].images[0].get_clim()
    assert low == -high
    assert [ax.get_xlabel() for ax in figure.axes[:3]] == ["before: base", "after: tuned", "after minus before"]
    assert cut_texts(figure) == []


def test_the_wall_has_every_head_at_its_place(view: View) -> None:
    figure = drawn(view, "wall")
    (wall,) = squares(figure)[:1]
    side = wall.shape[1] // 4
    for layer, head in ((0, 0), (1, 3), (2, 1)):
        tile = wall[layer * side : (layer + 1) * side, head * side : (head + 1) * side]
        np.testing.assert_allclose(tile, own(view, "text-0", layer, head), atol=1e-6)
    assert cut_texts(figure) == []


@pytest.mark.parametrize("what", ["map", "before-after"])
@pytest.mark.parametrize(("head", "error"), [(None, InvalidOption), ("L9H0", UnknownHead), ("L1", InvalidOption)])
def test_heads_that_are_none(view: View, what: str, head: str | None, error: type[Exception]) -> None:
    with pytest.raises(error):
        drawn(view, what, Asked(head=head))


def test_texts_that_are_none(view: View) -> None:
    with pytest.raises(InvalidOption, match="got text=7; this study has maps of the texts 0 to 1"):
        drawn(view, "wall", Asked(text=7))
    with pytest.raises(InvalidOption, match="before fine-tuning of the texts 0 alone"):
        drawn(view, "before-after", Asked(head="L0H0", text=1))


def test_what_has_no_effect_is_refused(view: View) -> None:
    for what, asked in (("wall", Asked(head="L0H0")), ("wall", Asked(x="special.sep")), ("map", Asked(y="ablation"))):
        with pytest.raises(InvalidOption, match="which has no effect on the figure"):
            drawn(view, what, asked)


def test_a_pruned_model(tmp_path: Path) -> None:
    """Grey squares where a head was removed, and no map of it."""
    view = read_view(studies.pruned_study(tmp_path / "study"))
    wall = squares(drawn(view, "wall"))[0]
    side = wall.shape[1] // 4
    assert np.isnan(wall[:side, side : 2 * side]).all(), "L0H1 is gone"
    assert not np.isnan(wall[:side, :side]).any()
    with pytest.raises(UnknownHead, match="L0H1"):
        drawn(view, "map", Asked(head="L0H1"))


@pytest.mark.parametrize("count", [1, 5, 30, 60, 128, 400])
@pytest.mark.parametrize("token", ["of", "WWWWWWWWWWWWWWWWWWWW", "$x_1$"])
def test_nothing_is_cut_and_no_label_lies_on_another(count: int, token: str) -> None:
    assert cut_texts(draw_map(Figure(), many([token] * count), Head("encoder", 0, 0), "L0H0")) == []
    figure = draw_map(Figure(), many([token] * count), Head("encoder", 0, 0), "L0H0", "a caption " * 30)
    assert cut_texts(figure) == []
    assert max(figure.get_size_inches()) < 14
    labels = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    centres = sorted((box.y0 + box.y1) / 2 for box in labels)
    size = figure.axes[0].get_yticklabels()[0].get_fontsize() * figure.dpi / 72
    assert all(later - earlier > 0.8 * size for earlier, later in pairwise(centres))


@pytest.mark.parametrize("count", [3, 40, 128])
def test_three_maps_side_by_side_are_not_cut(count: int) -> None:
    after = many(["international"] * count)
    maps = TextMaps(after.name, after.result, before=after)
    assert cut_texts(draw_before_after(Figure(), maps, Head("encoder", 0, 0), "L0H0", "caption")) == []


def test_a_thin_line_stays_on_a_small_map() -> None:
    weights = np.zeros((300, 200))
    weights[:, 117] = 1
    small = shrunk(weights)
    assert small.shape == (PIXELS, PIXELS)
    assert (small.max(1) == 1).all()
    assert (small > 0).sum() == PIXELS
