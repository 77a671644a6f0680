"""Where the parts of a figure lie: panels of an exact size, a title above and a caption below that are never cut."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NARROWEST = 3.6
"""Inches: a title needs that much."""
BAR = (1.5, 1.3)
"""The room that a colour bar needs beside the panels: its width with its labels, and its height."""
EDGE, TITLE, CAPTION, BAR_LABEL = 0.1, 10, 6.5, 7
"""The margin around everything in inches, and font sizes."""
GREY = "#4f5863"
FONTS = (
    *("DejaVu Sans", "Noto Sans", "Arial Unicode MS", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei"),
    *("Hiragino Sans", "PingFang SC", "Microsoft YaHei", "Malgun Gothic", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Emoji", "Segoe UI Emoji", "Symbola"),
)
"""Fonts for tokens in any script, the first that has a character draws it; those that are not installed are skipped."""


def place_panels(
    figure: Figure,
    sizes: Sequence[tuple[float, float]],
    *,
    title: str,
    caption: str = "",
    left: float = 0.62,
    gap: float = 0.62,
    above: float = 0.0,
    below: float = 0.5,
    beside: tuple[float, float] | None = None,
) -> tuple[list[Axes], Axes | None]:
    """Axes of these sizes (width and height, in inches) side by side, and at their right those of a colour bar, or the
    room that something else needs `beside` them.

    `left`, `gap`, `above` and `below` are what their labels need. The figure grows around them: a layout that is solved
    instead cuts labels beside cells that have to be squares.
    """
    figure.set_layout_engine("none")
    right, least = BAR if beside is None else beside
    inner, tallest = sum(width for width, _ in sizes) + gap * (len(sizes) - 1), max(height for _, height in sizes)
    tallest = max(tallest, least)
    width = max(NARROWEST, left + inner + right)
    titled, captioned = wrapped(title, width, TITLE), wrapped(caption, width, CAPTION)
    top = EDGE + _height(titled, TITLE) + 0.12 + above
    bottom = EDGE + _height(captioned, CAPTION) + below
    height = top + tallest + bottom
    figure.set_size_inches(width, height)
    if titled:
        figure.suptitle(titled, x=0.5, y=1 - EDGE / height, va="top", fontsize=TITLE, parse_math=False)
    if captioned:
        at = (EDGE / width, EDGE / height)
        figure.text(*at, captioned, ha="left", va="bottom", fontsize=CAPTION, color=GREY, parse_math=False)
    start, axes = left + (width - left - inner - right) / 2, []
    for wide, high in sizes:
        lower = bottom + tallest - high
        axes.append(figure.add_axes((start / width, lower / height, wide / width, high / height)))
        start += wide + gap
    if beside is not None:
        return axes, None
    long = min(tallest, 3.0)
    lower = bottom + (tallest - long) / 2
    return axes, figure.add_axes(((start - gap + 0.3) / width, lower / height, 0.13 / width, long / height))


def label_bar(bar: Axes, label: str) -> None:
    """The label of a colour bar, in lines that are hardly longer than it."""
    length = bar.bbox.height / bar.figure.dpi
    bar.set_ylabel(wrapped(label, length + 6 * EDGE, BAR_LABEL), fontsize=BAR_LABEL, parse_math=False)
    bar.tick_params(labelsize=7)
    bar.yaxis.get_offset_text().set_fontsize(7)


def write_caption(figure: Figure, caption: str) -> Figure:
    """A caption below a figure whose layout is solved; the figure grows by its height."""
    if caption:
        width, height = figure.get_size_inches()
        lines = wrapped(caption, width, CAPTION)
        figure.set_size_inches(width, height + _height(lines, CAPTION) + 0.06)
        figure.supxlabel(lines, fontsize=CAPTION, color=GREY, x=EDGE / width, ha="left", parse_math=False)
    return figure


def wrapped(text: str, width: float, size: float) -> str:
    """A text in lines that fit into a figure of this width in inches.

    >>> wrapped("one two", 0.7, 10)
    'one\\ntwo'
    """
    room = max(4, int((width - 2 * EDGE) * 72 / (0.58 * size)))
    return "\n".join(line for part in text.splitlines() for line in textwrap.wrap(part, room))


def _height(lines: str, size: float) -> float:
    return (lines.count("\n") + 1) * size * 1.25 / 72 if lines else 0.0


def longest(texts: Iterable[str], size: float) -> float:
    """The width of the longest text in inches, in the fonts of tokens."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=token_fonts(), size=size)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph")
        widths = [text_to_path.get_text_width_height_descent(text, font, False)[0] for text in set(texts) if text]
    return max(widths, default=0.0) / 72


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    names = set(fontManager.get_font_names())
    return tuple(font for font in FONTS if font in names)


def token_fonts() -> list[str]:
    """The installed fonts for tokens, in the order in which they are tried."""
    return list(_installed())
