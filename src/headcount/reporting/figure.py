"""Figures for papers: the figure of a name, and those that a study has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.core.read_study import StudyLike, study_path
from headcount.errors import InvalidOption, MissingPackage, StudyProblem
from headcount.reporting.budget_figure import draw_budget
from headcount.reporting.budgets import find_budgets
from headcount.reporting.caption import colouring_caption, result_caption, study_model, text_caption
from headcount.reporting.colourings import Colouring, effect_of, find_colourings
from headcount.reporting.cues import as_relations, find_cue_tables
from headcount.reporting.curve_figure import draw_curve
from headcount.reporting.figure_colours import ORDERS
from headcount.reporting.figure_file import DPI, check_dpi, check_figure, file_name, write_figure
from headcount.reporting.figure_layout import write_caption
from headcount.reporting.heads_figure import draw_heads, draw_kinds
from headcount.reporting.histogram_figure import draw_histogram
from headcount.reporting.layer_figure import draw_layers
from headcount.reporting.map_figure import draw_before_after, draw_map, draw_wall
from headcount.reporting.pair_figure import draw_pairs
from headcount.reporting.pairs import find_pairs
from headcount.reporting.pattern_figure import draw_patterns
from headcount.reporting.patterns import find_pattern_result, read_patterns
from headcount.reporting.position_figure import draw_positions
from headcount.reporting.positions import find_positions
from headcount.reporting.probes import find_probes
from headcount.reporting.relation_figure import draw_relations
from headcount.reporting.scatter_figure import draw_scatter
from headcount.reporting.series import find_curves, find_layers
from headcount.reporting.text_maps import choose_text, find_text_maps
from headcount.reporting.view import View, read_view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OF_A_HEAD = ("map", "before-after")
OF_A_TEXT = ("map", "wall", "before-after")


@dataclass(frozen=True)
class Asked:
    """What a figure is to be about, besides its name."""

    head: str | None = None
    text: int | None = None
    x: str | None = None
    y: str | None = None

    def check(self, what: str) -> None:
        """Refuse what has no effect on this figure."""
        for option, value, figures in (
            ("head", self.head, OF_A_HEAD),
            ("text", self.text, OF_A_TEXT),
            ("x", self.x, ("scatter",)),
            ("y", self.y, ("scatter",)),
        ):
            if value is not None and what not in figures:
                raise InvalidOption(
                    f"got {option}={value!r}, which has no effect on the figure {what!r}; leave it out, or draw "
                    f"{' or '.join(figures)}"
                )


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn: its function, which lays out its caption, and the number it colours heads by."""

    draw: Callable[[Figure], Figure]
    colouring: Colouring | None = None

    def __call__(self, figure: Figure) -> Figure:
        return self.draw(figure)


def figure(
    study: StudyLike,
    what: str = "ablation",
    output: str | Path | None = None,
    *,
    head: str | None = None,
    text: int | None = None,
    x: str | None = None,
    y: str | None = None,
    dpi: int = DPI,
) -> Figure:
    """Draw a figure of a study with matplotlib; `output` also writes it to a file (svg, pdf or png).

    `what`: "ablation", "layers", "histogram", "importance", "roles", "curve", "budget" (the score against the
    measured speed, and what is left of each layer), "patterns", "relations", "pairs", "patch" (what heads of the other
    input bring), "positions" (and where), "scatter" (the number `y` of the heads against `x`), "map" (of the `head`
    "L3H7"), "wall" (the maps of all heads), "before-after" (a head's maps before and after fine-tuning), or a variable
    such as "special.sep". `text`: the number of the text whose maps are drawn, counted from 0. `dpi`: dots per inch of
    a png, and of the maps inside a pdf or svg.
    """
    file = None if output is None else Path(output)
    if file is not None:
        check_figure(file, dpi)
    check_dpi(dpi)
    drawn = draw(read_view(study_path(study)), what, Asked(head, text, x, y))
    if file is not None:
        write_figure(drawn, file, dpi)
    return drawn


def draw(view: View, what: str, asked: Asked | None = None) -> Figure:
    """The figure of this name of a study that has been read."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("figures need matplotlib: pip install 'headcount[plot]'") from error
    return choose_drawing(view, what, asked)(Figure(layout="constrained"))


def figure_name(study: StudyLike, what: str, head: str | None = None, text: int | None = None) -> str:
    """The name of a figure's file: the model, the figure, the head and the number of the text."""
    model = study_model(read_view(study_path(study)))
    return file_name(model, what, head or "", "" if text is None else f"text-{text}")


def choose_drawing(view: View, what: str, asked: Asked | None = None) -> Drawing:
    """The drawing of this name; an unknown name is an error that lists the known ones."""
    asked = asked or Asked()
    known = find_drawings(view, asked)
    if not known:
        raise StudyProblem("the study has nothing to draw yet; run headcount sweep or headcount measure first")
    if what not in known:
        usual = [name for name in known if "." not in name]
        variables = [name for name in known if "." in name]
        near = get_close_matches(what, variables, n=4, cutoff=0.3) or variables[:1]
        others = f", and {len(variables)} variables such as {', '.join(near)}" if variables else ""
        raise InvalidOption(
            f"got the figure {what!r}; this study has {', '.join(usual) or 'none of the usual ones'}{others}"
        )
    asked.check(what)
    return known[what]


def find_drawings(view: View, asked: Asked | None = None) -> dict[str, Drawing]:
    """By name, the figures that a study has, those that people look for first in front."""
    colourings = find_colourings(view)
    known = _effects(view, colourings) | _series(view) | _tables(view) | _patches(view, colourings)
    importance = next((colouring for colouring in colourings if colouring["id"].startswith("pruning/importance")), None)
    if importance is not None:
        known["importance"] = heads_drawing(view, importance)
    roles = next((colouring for colouring in colourings if colouring["id"] == "roles"), None)
    if roles is not None:
        known["roles"] = heads_drawing(view, roles)
    numbers = numbers_of(colourings)
    if len(numbers) > 1:
        known["scatter"] = Drawing(lambda figure: _scatter(figure, view, numbers, asked or Asked()))
    known |= _maps(view, asked or Asked())
    for colouring in colourings:
        if colouring["kind"] != "category":
            known.setdefault(short_id(colouring), heads_drawing(view, colouring))
    return known


def heads_drawing(view: View, colouring: Colouring) -> Drawing:
    """A colouring of all heads."""
    drawn = draw_kinds if colouring["kind"] == "category" else draw_heads
    caption = colouring_caption(view, colouring)
    return Drawing(partial(drawn, view=view, colouring=colouring, caption=caption), colouring)


def _captioned(view: View, result: str, drawn: Callable[[Figure], Figure]) -> Drawing:
    """A drawing without a caption of its own, above that of the result it shows."""
    return Drawing(lambda figure: write_caption(drawn(figure), result_caption(view, result)))


def _effects(view: View, colourings: list[Colouring]) -> dict[str, Drawing]:
    effect = effect_of(colourings)
    if effect is None:
        return {}
    histogram = _captioned(view, str(effect["id"]).rsplit(":", 1)[0], partial(draw_histogram, colouring=effect))
    return {"ablation": heads_drawing(view, effect), "histogram": histogram}


def _series(view: View) -> dict[str, Drawing]:
    """Layers, curves, budgets and patterns."""
    known = {}
    for sweep in find_layers(view)[:1]:
        known["layers"] = _captioned(view, f"sweep/{sweep['name']}", partial(draw_layers, sweep=sweep))
    curves = find_curves(view)
    if curves:
        held_out = next((curve for curve in curves if curve["name"].endswith("-confirming")), curves[0])
        known["curve"] = _captioned(view, f"pruning/{held_out['name']}", partial(draw_curve, curve=held_out))
    for told in find_budgets(view)[:1]:
        name = f"pruning/{told['name']}"
        known["budget"] = _captioned(view, name, partial(draw_budget, told=told, colours=ORDERS))
    patterns = read_patterns(view)
    if patterns is not None and patterns["stacks"]:
        name = f"measures/{find_pattern_result(view)[0]}"
        known["patterns"] = _captioned(view, name, partial(draw_patterns, patterns=patterns))
    return known


def _tables(view: View) -> dict[str, Drawing]:
    """Rows with intervals: relations, cues, pairs."""
    known: dict[str, Drawing] = {}
    probes = [probe for probe in find_probes(view) if probe["rows"]]
    for probe in probes:  # the first by the usual name; of several, each by its own
        drawn = partial(draw_relations, probed=probe, colours=ORDERS)
        drawing = _captioned(view, f"probe/{probe['name']}", drawn)
        known.setdefault("relations", drawing)
        if len(probes) > 1:
            known[f"relations.{probe['name']}"] = drawing
    names = [view.layout.spell(head) for head in view.layout]
    for told in find_cue_tables(view)[:1]:
        drawn = partial(draw_relations, probed=as_relations(told), colours=ORDERS)
        known["cues"] = _captioned(view, f"cues/{told['name']}", drawn)
    for told in find_pairs(view)[:1]:
        known["pairs"] = _captioned(view, told["id"], partial(draw_pairs, told=told, names=names))
    return known


def _patches(view: View, colourings: list[Colouring]) -> dict[str, Drawing]:
    """What heads of the other input bring, and at which positions."""
    known = {}
    share = next((colouring for colouring in colourings if "patched" in colouring), None)
    if share is not None:
        known["patch"] = heads_drawing(view, share)
    names = [view.layout.spell(head) for head in view.layout]
    for told in find_positions(view)[:1]:
        known["positions"] = _captioned(view, told["id"], partial(draw_positions, told=told, names=names))
    return known


def numbers_of(colourings: list[Colouring]) -> dict[str, Colouring]:
    """The numbers that a scatter plot can show, by name: "ablation", "importance", and all variables."""
    numbers = {}
    effect = effect_of(colourings)
    if effect is not None:
        numbers["ablation"] = effect
    for colouring in colourings:
        if colouring["kind"] == "category":
            continue
        if str(colouring["id"]).startswith("pruning/importance"):
            numbers.setdefault("importance", colouring)
        numbers.setdefault(short_id(colouring), colouring)
    return numbers


def _scatter(figure: Figure, view: View, numbers: dict[str, Colouring], asked: Asked) -> Figure:
    """By default, the effect of ablation against importance, or the first two numbers that there are."""
    names = list(numbers)
    usual = ("importance", "ablation") if {"importance", "ablation"} <= set(names) else (names[1], names[0])
    chosen = []
    for option, name, default in zip("xy", (asked.x, asked.y), usual, strict=True):
        if name is not None and name not in numbers:
            near = get_close_matches(name, numbers, n=4, cutoff=0.3) or list(numbers)[:4]
            raise InvalidOption(
                f"got {option}={name!r}; this study has {len(numbers)} numbers of heads, such as {', '.join(near)}"
            )
        chosen.append(numbers[name or default])
    x, y = chosen
    first, second = (colouring_caption(view, colouring) for colouring in (x, y))
    caption = first if first == second else f"x: {first}\ny: {second}"
    return write_caption(draw_scatter(figure, view, x, y), caption)


def _maps(view: View, asked: Asked) -> dict[str, Drawing]:
    texts = find_text_maps(view)
    if not texts:
        return {}

    def of_head(figure: Figure, what: str) -> Figure:
        maps = choose_text(texts, asked.text)
        if asked.head is None:
            raise InvalidOption(f"got the figure {what!r} without a head; give head='L3H7' or any other")
        found = view.layout.find(asked.head)
        if len(found) != 1:
            raise InvalidOption(f"got head={asked.head!r}, which is {len(found)} heads; expected one, such as 'L3H7'")
        spelled = view.layout.spell(found[0])
        if not maps.has(found[0]):
            raise InvalidOption(f"got head={asked.head!r}; the maps of {maps.name} have no such head")
        if what == "map":
            return draw_map(figure, maps, found[0], spelled, text_caption(maps))
        if maps.before is None:
            several = ", ".join(str(number) for number, one in enumerate(texts) if one.before is not None)
            raise InvalidOption(
                f"got text={asked.text or 0}; this study has maps before fine-tuning of the texts {several} alone"
            )
        return draw_before_after(figure, maps, found[0], spelled, text_caption(maps, with_model=False))

    def of_all(figure: Figure) -> Figure:
        maps = choose_text(texts, asked.text)
        return draw_wall(figure, view, maps, text_caption(maps))

    known = {"map": Drawing(partial(of_head, what="map")), "wall": Drawing(of_all)}
    if any(one.before is not None for one in texts):
        known["before-after"] = Drawing(partial(of_head, what="before-after"))
    return known


def short_id(colouring: Colouring) -> str:
    """`special.sep` for `measures/special:sep`, `links.verb-to-subject.gain` for a relation.

    >>> short_id({"id": "measures/special:sep"}), short_id({"id": "measures/links@words/verb to subject:gain"})
    ('special.sep', 'links@words.verb-to-subject.gain')
    """
    result, variable = str(colouring["id"]).rsplit(":", 1)
    kind, *rest = result.split("/")
    name = ".".join(part.replace(" ", "-") for part in rest)
    return f"{'change.' if kind == 'compare' else ''}{name}.{variable}"
