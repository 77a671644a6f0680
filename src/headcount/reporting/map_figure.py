"""Figures for papers: attention maps of one head, of all heads, and of a head before and after fine-tuning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.core.heads import Head
from headcount.reporting.figure_layout import label_bar, longest, place_panels, token_fonts
from headcount.reporting.heads_figure import place_heads
from headcount.reporting.text_maps import TextMaps
from headcount.reporting.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 1)
SCALE = "attention weight (colour: its square root)"
CELLS = ((24, 0.2), (48, 0.14), (72, 0.11), (10**6, 0.085))
"""The side of a cell in inches, up to a number of tokens."""
LARGEST = 9.5
"""The longest side of a map in inches; longer texts have smaller cells, and a label for some of their tokens only."""
SHORTENED = 14
"""Characters of a token at most."""
THUMBNAIL, PIXELS = 0.5, 72
"""Side of a head's map on a wall, in inches, and its rows and columns at most."""


def draw_map(figure: Figure, maps: TextMaps, head: Head, spelled: str, caption: str = "") -> Figure:
    """The map of a head: a row for each token that looks, a column for each token that it looks at."""
    (ax,), bar = _place_maps(figure, maps, head.stack, f"Attention of {spelled}", caption)
    image = _draw_weights(ax, maps.weights(head))
    _label_tokens(ax, *maps.tokens(head.stack))
    assert bar is not None
    figure.colorbar(image, cax=bar, ticks=TICKS)
    label_bar(bar, SCALE)
    return figure


def draw_before_after(figure: Figure, maps: TextMaps, head: Head, spelled: str, caption: str = "") -> Figure:
    """The maps of a head before and after fine-tuning, and their difference; `maps.before` is there."""
    assert maps.before is not None
    before, after = maps.before.weights(head), maps.weights(head)
    axes, _ = _place_maps(
        figure, maps, head.stack, f"Attention of {spelled} before and after fine-tuning", caption, panels=3
    )
    queries, keys = maps.tokens(head.stack)
    weights, _ = _draw_weights(axes[0], before), _draw_weights(axes[1], after)
    change = after - before
    most = float(np.abs(change).max()) or 1.0
    changed = axes[2].imshow(change, cmap="PuOr", vmin=-most, vmax=most, aspect="equal", interpolation="nearest")
    names = (f"before: {maps.before.model}", f"after: {maps.model}", "after minus before")
    for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
        _label_tokens(ax, queries if number == 0 else None, keys)
        ax.set_xlabel(name, fontsize=8, parse_math=False)
    for shown, first, last, ticks, said in (
        (weights, axes[0], axes[1], TICKS, SCALE),
        (changed, axes[2], axes[2], None, "change of the weight"),
    ):
        bar = figure.colorbar(shown, cax=_below(figure, first, last), orientation="horizontal", ticks=ticks)
        bar.set_label(said, fontsize=7)
        bar.ax.tick_params(labelsize=6.5)
        if ticks is None:
            bar.ax.locator_params(axis="x", nbins=4)
    return figure


def draw_wall(figure: Figure, view: View, maps: TextMaps, caption: str = "") -> Figure:
    """The maps of all heads, a row for each layer: each square is one map."""
    notes = "each square is a map: a row for each token that looks, a column for each that it looks at"
    title = f"Attention maps of all {view.layout.count} heads"
    axes, bar = place_heads(figure, view, title, f"{caption}\n{notes}", THUMBNAIL)
    image: Any = None
    for ax in axes:
        stack = str(ax.get_gid()).partition(":")[2]
        deep, width = view.layout.layers(stack), view.layout.width(stack)
        wall = _tiles(view, maps, stack)
        edges = (-0.5, width - 0.5, deep - 0.5, -0.5)
        image = _draw_weights(ax, wall, extent=edges, aspect="auto")
        ax.hlines(np.arange(deep + 1) - 0.5, -0.5, width - 0.5, color="white", linewidth=1.5)
        ax.vlines(np.arange(width + 1) - 0.5, -0.5, deep - 0.5, color="white", linewidth=1.5)
    assert bar is not None
    figure.colorbar(image, cax=bar, ticks=TICKS)
    label_bar(bar, SCALE)
    return figure


def _tiles(view: View, maps: TextMaps, stack: str) -> np.ndarray:
    """The maps of a stack as one picture; NaN where there is no head."""
    known = {(head.layer, head.head): head for head in view.layout if head.stack == stack and maps.has(head)}
    rows, columns = maps.shape(stack)
    empty = np.full((min(rows, PIXELS), min(columns, PIXELS)), np.nan)
    return np.block(
        [
            [
                shrunk(maps.weights(known[layer, head])) if (layer, head) in known else empty
                for head in range(view.layout.width(stack))
            ]
            for layer in range(view.layout.layers(stack))
        ]
    )


def shrunk(weights: np.ndarray) -> np.ndarray:
    """A map with at most `PIXELS` rows and columns: each is the largest of the weights that it stands for, so that thin
    lines stay visible."""
    for axis in (0, 1):
        count = weights.shape[axis]
        if count > PIXELS:
            weights = np.maximum.reduceat(weights, np.arange(PIXELS) * count // PIXELS, axis=axis)
    return weights


def _draw_weights(ax: Axes, weights: np.ndarray, **more: Any) -> Any:
    """Weights from 0 to 1 on a scale by their square roots, as the page has it: small ones stay visible."""
    from matplotlib.colors import PowerNorm

    options = {"aspect": "equal", "interpolation": "nearest", **more}
    return ax.imshow(weights, cmap="Blues", norm=PowerNorm(0.5, 0, 1), **options)


def _place_maps(
    figure: Figure, maps: TextMaps, stack: str, title: str, caption: str, panels: int = 1
) -> tuple[list[Axes], Axes | None]:
    """Axes for maps side by side, with room for the tokens on the left and above."""
    queries, keys = (list(map(shorten, tokens)) for tokens in maps.tokens(stack))
    side = _side(max(len(queries), len(keys)), panels)
    size = _font_size(side)
    room = {"left": longest(queries, size) + 0.42, "above": longest(keys, size) + 0.28, "gap": 0.25}
    return place_panels(
        figure,
        [(side * len(keys), side * len(queries))] * panels,
        title=title,
        caption=caption,
        below=0.15 if panels == 1 else 0.95,
        beside=None if panels == 1 else (0.2, 0.8),
        **room,
    )


def _side(count: int, panels: int) -> float:
    """The side of a cell in inches for maps of so many tokens."""
    side = next(side for most, side in CELLS if count <= most)
    return min(side if panels == 1 else 0.75 * side, LARGEST / count / (1 if panels == 1 else 1.8))


def _font_size(side: float) -> float:
    return min(7.5, max(4.2, 72 * side * 0.85))


def _label_tokens(ax: Axes, queries: list[str] | None, keys: list[str]) -> None:
    """The tokens of the rows (none if another map beside it has them) and, above, of the columns.

    Where they are too many for a label each, every second, third or so has one.
    """
    side = ax.bbox.width / ax.figure.dpi / len(keys)
    size = _font_size(side)
    step = max(1, int(np.ceil(size / (72 * side * 0.98) - 0.05)))
    options: dict[str, Any] = {"fontsize": size, "parse_math": False, "fontfamily": token_fonts()}
    ax.xaxis.tick_top()
    ax.set_xticks(range(0, len(keys), step), labels=[shorten(key) for key in keys[::step]], rotation=90, **options)
    if queries is None:
        ax.set_yticks([])
    else:
        rows = [shorten(query) for query in queries[::step]]
        ax.set_yticks(range(0, len(queries), step), labels=rows, **options)
        ax.set_ylabel("from (query)", fontsize=7.5)
        ax.set_title("to (key)", fontsize=7.5, pad=3)
    ax.tick_params(length=1.5, pad=1.5)


def shorten(token: str) -> str:
    """A token of at most `SHORTENED` characters.

    >>> shorten("internationalization")
    'internationali…'
    """
    return token if len(token) <= SHORTENED else f"{token[:SHORTENED]}…"


def _below(figure: Figure, first: Axes, last: Axes) -> Axes:
    """Axes for a horizontal colour bar below some maps."""
    height = float(figure.get_size_inches()[1])
    left, right = first.get_position(), last.get_position()
    middle, width = (left.x0 + right.x1) / 2, min(right.x1 - left.x0, 3.2 / float(figure.get_size_inches()[0]))
    return figure.add_axes((middle - width / 2, left.y0 - 0.48 / height, width, 0.1 / height))
