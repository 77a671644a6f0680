"""Results inside a notebook: a picture with its numbers, in HTML that needs no script and loads nothing."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.core.heads import Head
from headcount.core.html_table import html_table
from headcount.errors import InvalidOption, StudyProblem
from headcount.reporting.colourings import Colouring, find_colourings
from headcount.reporting.figure import Asked, Drawing, choose_drawing, draw, find_drawings
from headcount.reporting.figure_file import DPI, as_bytes, check_figure, write_figure
from headcount.reporting.head_card import Row, head_rows
from headcount.reporting.result_view import view_of
from headcount.reporting.view import View
from headcount.story.names import spell_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = (
    *("ablation", "curve", "budget", "importance", "roles", "patterns", "layers", "wall"),
    *("relations", "cues", "pairs", "patch", "positions"),
)
"""What is shown of a result if nothing is asked for: the first of these that it has."""
SHARP, ROUGH = 144, 60
"""Dots per inch of a picture: two for each dot of most screens, or fewer for large ones."""
ROOM = 300_000
"""Bytes of a picture at most; a cell of a notebook has it twice, once as text."""
FRAME = "background:#fff;color:#1c2127;padding:10px;border-radius:4px;font:13px/1.45 system-ui,sans-serif"


def show(result: Any, what: str | None = None, head: str | None = None, *, text: int | None = None) -> Shown:
    """A picture of a study or of a result for a notebook: put it at the end of a cell.

    `result`: what `open_study` or a verb such as `sweep`, `measure`, `maps` or `choose` returns, a folder, or a list of
    these. `what`: any figure of `hc.figure`, such as "ablation", "curve", "map", "wall" or "special.sep"; by default
    the one that people look for first. `head`: "L3H7", whose map and numbers are shown. `text`: the number of the text
    whose maps are drawn, counted from 0. The picture needs no script; `save` writes it to a file.

    >>> import headcount as hc
    >>> seen = hc.maps(*hc.load(hc.bundled()), "Who wrote it?", "Anna Lund wrote it.")
    >>> hc.show(seen, head="L2H9").title
    'Attention of L2H9'
    """
    view = view_of(result)
    chosen = what or _usual(view, head)
    of_map = chosen in ("map", "before-after")
    asked = Asked(head=head if of_map else None, text=text)
    if head is not None and what is not None and not of_map:
        Asked(head=head).check(what)
    drawing, drawn = choose_drawing(view, chosen, asked), draw(view, chosen, asked)
    rows: list[Row] = []
    if head is not None:
        one = _one_head(view, head)
        rows = head_rows(view, one)
        if not of_map:
            _ring(drawn, one)
    others = [name for name in find_drawings(view) if name != chosen and "." not in name] if what is None else []
    return Shown(drawn, chosen, rows, _tips(drawn, view, drawing), others)


@dataclass(frozen=True)
class Tip:
    """What is said where the pointer rests: left, top, width and height as shares of the picture."""

    box: tuple[float, float, float, float]
    says: str


@dataclass
class Shown:
    """A picture that a notebook displays; its `figure` is one of matplotlib."""

    figure: Figure
    what: str
    """Its name."""
    rows: Sequence[Row] = ()
    tips: Sequence[Tip] = ()
    others: Sequence[str] = field(default_factory=tuple)

    @property
    def title(self) -> str:
        """The figure's title in one line."""
        title = self.figure.get_suptitle() or next((ax.get_title() for ax in self.figure.axes if ax.get_title()), "")
        return " ".join(title.split()) or self.what

    @property
    def caption(self) -> str:
        """What the figure is about, in one line."""
        label = self.figure.get_supxlabel()
        return " ".join((label or next((text.get_text() for text in reversed(self.figure.texts)), "")).split())

    def save(self, output: str | Path, dpi: int = DPI) -> Path:
        """Write the figure to a file (svg, pdf or png), and return its path."""
        file = Path(output)
        check_figure(file, dpi)
        write_figure(self.figure, file, dpi)
        return file

    @cached_property
    def picture(self) -> bytes:
        """The figure as a small png: sharp on most screens, less so if it is large."""
        dpi, packed = SHARP, _packed(as_bytes(self.figure, ".png", SHARP))
        while len(packed) > ROOM and dpi > ROUGH:
            dpi = max(ROUGH, dpi * 3 // 4)
            packed = _packed(as_bytes(self.figure, ".png", dpi))
        return packed

    def __repr__(self) -> str:
        return f"<{self.title}: a notebook displays it, .save('figure.pdf') writes it>"

    def _repr_png_(self) -> bytes:
        return self.picture

    def _repr_html_(self) -> str:
        width = round(96 * float(self.figure.get_size_inches()[0]))
        source = f"data:image/png;base64,{base64.b64encode(self.picture).decode('ascii')}"
        alt = html.escape(" · ".join(filter(None, (self.title, self.caption))))
        tips = "".join(map(_tip, self.tips))
        table = html_table((row.title, row.value, row.rank) for row in self.rows) if self.rows else ""
        others = ""
        if self.others:
            names = ", ".join(f"<code>{html.escape(name)}</code>" for name in self.others)
            others = f'<p style="margin:6px 0 0;color:#4f5863">hc.show(…, what) also draws {names}</p>'
        return (
            f'<div class="headcount" style="{FRAME}">'
            f'<div style="position:relative;width:{width}px;max-width:100%;line-height:0">'
            f'<img alt="{alt}" src="{source}" style="width:100%;margin:0">{tips}</div>{table}{others}</div>'
        )


def _usual(view: View, head: str | None) -> str:
    """The figure of a result that people look for first."""
    known = find_drawings(view)
    if not known:
        raise StudyProblem("the result has nothing to draw; expected numbers of heads or layers, curves or maps")
    if head is not None and "map" in known:
        return "map"
    return next((name for name in USUAL if name in known), next(iter(known)))


def _one_head(view: View, name: str) -> Head:
    found = view.layout.find(name)
    if len(found) != 1:
        raise InvalidOption(f"got head={name!r}, which is {len(found)} heads; expected one, such as 'L3H7'")
    return found[0]


def _ring(figure: Figure, head: Head) -> None:
    """A frame around a head in a figure of all heads."""
    from matplotlib.patches import Rectangle

    for ax in figure.axes:
        if ax.get_gid() == f"heads:{head.stack}":
            corner = (head.head - 0.5, head.layer - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#d62728", linewidth=2, clip_on=False))


def _tips(figure: Figure, view: View, drawing: Drawing) -> list[Tip]:
    """The name and the number of each head, where a figure shows all heads."""
    axes = {str(ax.get_gid())[6:]: ax for ax in figure.axes if str(ax.get_gid()).startswith("heads:")}
    if not axes:
        return []
    kinds = [one for one in find_colourings(view) if one["id"] in ("roles", "patterns")]
    told = [drawing.colouring] if drawing.colouring is not None else kinds
    tips = []
    for place, head in enumerate(view.layout):
        if head.stack not in axes:
            continue
        box = axes[head.stack].get_position()
        wide = box.width / max(1, view.layout.width(head.stack))
        high = box.height / view.layout.layers(head.stack)
        left, top = box.x0 + wide * head.head, 1 - box.y1 + high * head.layer
        says = [said for colouring in told if (said := _said(colouring, place))]
        tips.append(Tip((left, top, wide, high), "\n".join((view.layout.spell(head), *says))))
    return tips


def _said(colouring: Colouring, place: int) -> str:
    """The value of a head in words."""
    value = colouring["values"][place]
    if value is None:
        return str(colouring.get("unknown", ""))
    title = str(colouring["title"])
    if colouring["kind"] == "category":
        return f"{title}: {colouring['names'][value]}"
    low, high = (colouring.get(end) for end in ("low", "high"))
    signed = colouring["kind"] == "diverging"
    said = f"{value:+.4g}" if signed else f"{value:.4g}"
    if low is not None and high is not None and low[place] is not None and high[place] is not None:
        said = spell_interval((value, low[place], high[place]), signed=signed)
    q = colouring.get("q")
    tested = f", q = {q[place]:.2g}" if q is not None and q[place] is not None else ""
    return f"{title}: {said}{tested}"


def _tip(tip: Tip) -> str:
    left, top, width, height = (f"{100 * share:.2f}%" for share in tip.box)
    place = f"position:absolute;left:{left};top:{top};width:{width};height:{height}"
    return f'<span title="{html.escape(tip.says)}" style="{place}"></span>'


def _packed(png: bytes) -> bytes:
    """A png of 256 colours, which is a third as large and looks the same."""
    from PIL import Image

    packed = io.BytesIO()
    colours = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    colours.save(packed, "PNG", optimize=True)
    return packed.getvalue()
