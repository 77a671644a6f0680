"""A figure for papers: a number of each head, layer by layer, around the baseline if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.core.claims import LEVEL
from headcount.reporting.colourings import Colouring
from headcount.reporting.figure_colours import BASELINE, UNKNOWN, kind_colours, scale_of
from headcount.reporting.figure_layout import label_bar, longest, place_panels
from headcount.reporting.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE = 0.3
"""Side of a head's square in inches."""


def draw_heads(figure: Figure, view: View, colouring: Colouring, caption: str = "") -> Figure:
    """A heat map for each stack, with a row for each layer and the baseline as a line in the colour bar."""
    base = colouring.get("baseline")
    scale = scale_of(colouring, base)
    title = str(colouring["title"])
    if base is not None:
        title = title.replace("Change of ", "").capitalize()
    caption = "\n".join((caption, *_notes(view, colouring, scale.says)))
    axes, bar = place_heads(figure, view, title, caption, above=0.0 if base is None else 0.22)
    image: Any = None
    for ax, (stack, square) in zip(axes, squares(view, colouring["values"], base or 0.0), strict=True):
        image = ax.imshow(square, **scale.options, aspect="equal")
        _mark_significant(ax, view, colouring, stack)
    assert bar is not None
    figure.colorbar(image, cax=bar)
    label_bar(bar, colouring["unit"] if base is None else f"{colouring['unit']} without the head")
    if scale.seen is not None:
        bar.set_ylim(scale.seen)
    if base is not None:
        bar.ticklabel_format(axis="y", useOffset=False)  # its summand would stand above the bar, beside the baseline
        bar.axhline(base, color=BASELINE, linewidth=2)
        bar.set_title(f"baseline\n{base:.3f}", fontsize=7, color=BASELINE)
    return figure


def draw_kinds(figure: Figure, view: View, colouring: Colouring, caption: str = "") -> Figure:
    """The kind of each head, such as its role, and how many heads are of each kind."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colours, names = kind_colours(colouring), colouring["names"]
    counts = [sum(value == kind for value in colouring["values"]) for kind in range(len(names))]
    lines = (caption, *_notes(view, colouring, ""))
    words = [f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count]
    beside = (longest(words, 7) + 0.7, 0.16 * len(words))
    axes, _ = place_heads(figure, view, str(colouring["title"]), "\n".join(lines), beside=beside)
    for ax, (_, square) in zip(axes, squares(view, colouring["values"]), strict=True):
        ax.imshow(square, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(names) - 0.5, aspect="equal")
    shown = [colour for colour, count in zip(colours, counts, strict=True) if count]
    handles = [Patch(facecolor=colour, label=word) for colour, word in zip(shown, words, strict=True)]
    last = axes[-1].get_position()
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(last.x1 + 0.1 / figure.get_size_inches()[0], last.y1),
        borderaxespad=0,
        fontsize=7,
        frameon=False,
    )
    return figure


def place_heads(
    figure: Figure,
    view: View,
    title: str,
    caption: str,
    side: float | None = None,
    beside: tuple[float, float] | None = None,
    above: float = 0.0,
) -> tuple[list[Axes], Axes | None]:
    """Axes for each stack with heads: column h of row l, counted from 0 at the top left, is head h of layer l."""
    stacks = {stack: layers for stack, layers in view.layout.stacks.items() if layers}
    deepest = max(len(layers) for layers in stacks.values())
    side = side or min(0.6, max(SIDE, 1.2 / deepest))  # a few layers leave room for the labels beside them
    widths = [max(1, view.layout.width(stack)) for stack in stacks]
    sizes = [(side * width, side * len(layers)) for width, layers in zip(widths, stacks.values(), strict=True)]
    axes, bar = place_panels(figure, sizes, title=title, caption=caption, beside=beside, above=above)
    for ax, (stack, layers), width in zip(axes, stacks.items(), widths, strict=True):
        ax.set_gid(f"heads:{stack}")
        ax.set_facecolor(UNKNOWN)
        _number(ax, width, len(layers), side)
        ax.set_xlabel("head", fontsize=8)
        ax.set_ylabel("layer" if len(stacks) == 1 else f"layer ({stack})", fontsize=8)
    return axes, bar


def _number(ax: Axes, width: int, deep: int, side: float) -> None:
    """Every column and row has its number."""
    size = min(7.0, 72 * side * 0.8 / len(str(max(width, deep) - 1)) / 0.62)
    ax.set_xticks(range(width), labels=list(map(str, range(width))), fontsize=size)
    ax.set_yticks(range(deep), labels=list(map(str, range(deep))), fontsize=size)
    ax.tick_params(length=2, pad=2)


def squares(
    view: View, values: Sequence[float | None], added: float = 0.0
) -> list[tuple[str, np.ndarray[Any, np.dtype[np.float64]]]]:
    """For each stack with heads, their values [layer, head]; NaN where there is no head or no value."""
    found = []
    for stack, layers in view.layout.stacks.items():
        if not layers:
            continue
        square = np.full((len(layers), max(1, view.layout.width(stack))), np.nan)
        for head, value in zip(view.layout, values, strict=True):
            if head.stack == stack and value is not None:
                square[head.layer, head.head] = value + added
        found.append((stack, square))
    return found


def _notes(view: View, colouring: Colouring, says: str) -> list[str]:
    """What colours and dots say, for the caption."""
    notes = [says or str(colouring["says"])]
    q = [value for value in colouring.get("q") or [] if value is not None]
    if q:
        count = sum(value < LEVEL for value in q)
        notes.append(f"dot: q < {LEVEL}" if count else f"no head has q < {LEVEL}")
    drawn = sum(value is not None for value in colouring["values"])
    cells = sum(len(layers) * view.layout.width(stack) for stack, layers in view.layout.stacks.items())
    if drawn < cells:
        notes.append("grey: removed" if drawn == view.layout.count else f"grey: {colouring.get('unknown', 'no value')}")
    return [" · ".join(filter(None, notes))]


def _mark_significant(ax: Axes, view: View, colouring: Colouring, stack: str) -> None:
    """A dot on the heads whose effect is significant."""
    for head, q in zip(view.layout, colouring.get("q") or [], strict=False):
        if head.stack == stack and q is not None and q < LEVEL:
            ax.plot(head.head, head.layer, "o", color="white", markeredgecolor="black", markersize=4)
