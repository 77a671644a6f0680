"""Figures for papers: heads as a heat map, layers as bars, curves, budgets, patterns, relations, pairs, a histogram."""

from __future__ import annotations

import io
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.core.claims import LEVEL
from headcount.core.read_study import StudyLike, study_path
from headcount.errors import InvalidOption, MissingPackage, StudyProblem
from headcount.reporting.budget_figure import draw_budget
from headcount.reporting.budgets import find_budgets
from headcount.reporting.colourings import Colouring, effect_of, find_colourings
from headcount.reporting.cues import as_relations, find_cue_tables
from headcount.reporting.document import check_output, replace_file
from headcount.reporting.pair_figure import draw_pairs
from headcount.reporting.pairs import find_pairs
from headcount.reporting.palette import PATTERNS
from headcount.reporting.patterns import read_patterns
from headcount.reporting.position_figure import draw_positions
from headcount.reporting.positions import find_positions
from headcount.reporting.probes import find_probes
from headcount.reporting.relation_figure import draw_relations
from headcount.reporting.series import find_curves, find_layers
from headcount.reporting.view import View, read_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf", ".png")
SIDE = 0.32
"""Side of a head's square in inches."""
ORDERS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")


def figure(study: StudyLike, what: str = "ablation", output: str | Path | None = None) -> Figure:
    """Draw a figure of a study with matplotlib; `output` also writes it to a file (svg, pdf or png).

    `what`: "ablation", "layers", "histogram", "importance", "curve", "budget" (the score against the
    measured speed, and what is left of each layer), "patterns", "relations", "pairs", "patch" (what heads of the other
    input bring), "positions" (and where), or a variable such as "special.sep".
    """
    file = None if output is None else Path(output)
    if file is not None:
        if file.suffix.lower() not in FORMATS:
            raise InvalidOption(f"got {file.name!r}; expected a name that ends in {', '.join(FORMATS)}")
        check_output(file, f"heads{file.suffix.lower()}")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("figures need matplotlib: pip install 'headcount[plot]'") from error
    view = read_view(study_path(study))
    drawn = choose_drawing(view, what)(Figure(layout="constrained"))
    if file is not None:
        content = io.BytesIO()
        drawn.savefig(content, format=file.suffix[1:].lower(), dpi=200)
        replace_file(file, content.getvalue())
    return drawn


def choose_drawing(view: View, what: str) -> Callable[[Figure], Figure]:
    """The function that draws the figure of this name; an unknown name is an error that lists the known ones."""
    colourings = find_colourings(view)
    effect, layers, curves = effect_of(colourings), find_layers(view), find_curves(view)
    known: dict[str, Callable[[Figure], Figure]] = {}
    if effect is not None:
        known["ablation"] = partial(draw_heads, view=view, colouring=effect)
        known["histogram"] = partial(draw_histogram, colouring=effect)
    if layers:
        known["layers"] = partial(draw_layers, sweep=layers[0])
    if curves:
        held_out = next((curve for curve in curves if curve["name"].endswith("-confirming")), curves[0])
        known["curve"] = partial(draw_curve, curve=held_out)
    for told in find_budgets(view)[:1]:
        known["budget"] = partial(draw_budget, told=told, colours=ORDERS)
    patterns = read_patterns(view)
    if patterns is not None and patterns["stacks"]:
        known["patterns"] = partial(draw_patterns, patterns=patterns)
    probes = [probe for probe in find_probes(view) if probe["rows"]]
    for probe in probes:  # the first by the usual name; of several, each by its own
        drawing = partial(draw_relations, probed=probe, colours=ORDERS)
        known.setdefault("relations", drawing)
        if len(probes) > 1:
            known[f"relations.{probe['name']}"] = drawing
    for told in find_cue_tables(view)[:1]:
        known["cues"] = partial(draw_relations, probed=as_relations(told), colours=ORDERS)
    for pairs in find_pairs(view)[:1]:
        known["pairs"] = partial(draw_pairs, told=pairs, names=[view.layout.spell(head) for head in view.layout])
    share = next((colouring for colouring in colourings if "patched" in colouring), None)
    if share is not None:
        known["patch"] = partial(draw_heads, view=view, colouring=share)
    for told in find_positions(view)[:1]:
        known["positions"] = partial(draw_positions, told=told, names=[view.layout.spell(head) for head in view.layout])
    importance = next((colouring for colouring in colourings if colouring["id"].startswith("pruning/importance")), None)
    if importance is not None:
        known["importance"] = partial(draw_heads, view=view, colouring=importance)
    for colouring in colourings:
        if colouring["kind"] != "category":
            known.setdefault(short_id(colouring), partial(draw_heads, view=view, colouring=colouring))
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
    return known[what]


def short_id(colouring: Colouring) -> str:
    """`special.sep` for `measures/special:sep`, `links.verb-to-subject.gain` for a relation.

    >>> short_id({"id": "measures/special:sep"}), short_id({"id": "measures/links@words/verb to subject:gain"})
    ('special.sep', 'links@words.verb-to-subject.gain')
    """
    result, variable = str(colouring["id"]).rsplit(":", 1)
    kind, *rest = result.split("/")
    name = ".".join(part.replace(" ", "-") for part in rest)
    return f"{'change.' if kind == 'compare' else ''}{name}.{variable}"


def draw_heads(figure: Figure, view: View, colouring: Colouring) -> Figure:
    """A heat map for each stack, with a row for each layer and the baseline as a line in the colour bar."""
    stacks = {stack: layers for stack, layers in view.layout.stacks.items() if layers}
    widths = [max(1, view.layout.width(stack)) for stack in stacks]
    deepest = max(len(layers) for layers in stacks.values())
    figure.set_size_inches(SIDE * sum(widths) + 1.9, SIDE * deepest + 1.2)
    base = colouring.get("baseline")
    values = np.array([np.nan if value is None else value for value in colouring["values"]]) + (base or 0.0)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if base is not None:
        low, high = min(low, base), max(high, base)
    colours, centre = "viridis", colouring.get("centre")
    if centre is not None:  # as on the page: white for no effect, orange for what carries a difference
        most = max(high - centre, centre - low) or 1.0
        low, high, colours = centre - most, centre + most, "PuOr" if colouring["higher"] else "PuOr_r"
    axes = figure.subplots(1, len(stacks), squeeze=False, width_ratios=widths)[0]
    heads = list(view.layout)
    image: Any = None
    for ax, (stack, layers), width in zip(axes, stacks.items(), widths, strict=True):
        square = np.full((len(layers), width), np.nan)
        for head, value in zip(heads, values, strict=True):
            if head.stack == stack:
                square[head.layer, head.head] = value
        image = ax.imshow(square, cmap=colours, vmin=low, vmax=high, aspect="equal")
        _mark_significant(ax, view, colouring, stack)
        ax.set_xticks(range(width), labels=list(map(str, range(width))), fontsize=7)
        ax.set_yticks(range(len(layers)), labels=list(map(str, range(len(layers)))), fontsize=7)
        ax.set_xlabel("head")
        ax.set_ylabel("layer" if len(stacks) == 1 else f"layer ({stack})")
    bar = figure.colorbar(image, ax=list(axes), shrink=0.85)
    bar.set_label(colouring["unit"] if base is None else f"{colouring['unit']} without the head")
    if base is not None:
        bar.ax.axhline(base, color="#d62728", linewidth=2)
        bar.ax.set_title(f"baseline\n{base:.3f}", fontsize=7, color="#d62728")
    title = colouring["title"]
    figure.suptitle(title if base is None else title.replace("Change of ", "").capitalize(), fontsize=10, wrap=True)
    return figure


def _mark_significant(ax: Axes, view: View, colouring: Colouring, stack: str) -> None:
    """A dot on the heads whose effect is significant."""
    for head, q in zip(view.layout, colouring.get("q") or [], strict=False):
        if head.stack == stack and q is not None and q < LEVEL:
            ax.plot(head.head, head.layer, "o", color="white", markeredgecolor="black", markersize=4)


def draw_layers(figure: Figure, sweep: dict[str, Any]) -> Figure:
    """The score without each layer, or with that of another input, with intervals, and the baseline."""
    rows, base = sweep["rows"], sweep["baseline"]
    figure.set_size_inches(max(3.5, 0.35 * len(rows) + 1.2), 2.8)
    ax = figure.subplots()
    score = np.array([row["score"] for row in rows])
    ends = np.array([[row["score"] - base - row["low"], row["high"] - row["score"] + base] for row in rows]).T
    ax.bar(range(len(rows)), score, yerr=np.maximum(ends, 0), color="#5b7fa6", error_kw={"linewidth": 0.8})
    ax.axhline(base, color="#d55e00", linewidth=1.5, label=f"baseline {base:.3f}")
    low, high = min(base, float(np.min(score - ends[0]))), max(base, float(np.max(score + ends[1])))
    room = high - low or 0.1
    ax.set_ylim(low - 0.15 * room, high + 0.1 * room)
    ax.set_xticks(
        range(len(rows)), labels=[row["layer"] for row in rows], fontsize=7, rotation=90 if len(rows) > 16 else 0
    )
    patched = sweep.get("patched")
    ax.set_xlabel(f"layer of the {patched['given']} input" if patched else "layer left out")
    ax.set_ylabel(sweep["metric"])
    ax.legend(fontsize=7, frameon=False)
    return figure


def draw_curve(figure: Figure, curve: dict[str, Any]) -> Figure:
    """The score against the share of removed heads for every order, random orders as a band, and a published curve."""
    figure.set_size_inches(4.6, 3.2)
    ax = figure.subplots()
    gone, base = np.array([0, *curve["removed"]]) / curve["heads"], curve["baseline"]
    published = curve["published"]
    if published is not None:
        ax.plot(published["gone"], published["score"], ":", color="gray", label=published["source"])
    randoms = [line["score"] for line in curve["lines"] if line["order"].startswith("random")]
    if randoms:
        scores = np.array([[base, *line] for line in randoms], dtype=float)
        ax.fill_between(gone, scores.min(0), scores.max(0), color="gray", alpha=0.25)
        ax.plot(gone, scores.mean(0), color="gray", label="random")
    named = [line for line in curve["lines"] if not line["order"].startswith("random")]
    for line, colour in zip(named, ORDERS * (1 + len(named) // len(ORDERS)), strict=False):
        score, low, high = (np.array([base, *line[key]], dtype=float) for key in ("score", "low", "high"))
        ax.fill_between(gone, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(gone, score, "o-", color=colour, markersize=3, label=line["order"])
    ax.axhline(base, color="black", linewidth=0.6, linestyle="--")
    ax.set_xlabel(f"{curve['said']['removed']['title']} (share)")
    ax.set_ylabel(curve["metric"])
    ax.legend(fontsize=7, frameon=False)
    return figure


def draw_patterns(figure: Figure, patterns: dict[str, Any]) -> Figure:
    """Shares of patterns among all maps and in each layer, below published shares if there are some."""
    rows: list[tuple[str, list[float]]] = []
    published = patterns["published"]
    if published is not None:
        rows.append((published["source"].replace(", Figure", ",\nFigure"), published["share"]))
    for stack in patterns["stacks"]:
        suffix = f" ({stack['stack']})" if len(patterns["stacks"]) > 1 else ""
        rows.append((f"all maps{suffix}", stack["share"]))
        rows += [(f"L{number}{suffix}", share) for number, share in enumerate(stack["layers"]) if share is not None]
    figure.set_size_inches(5.6, 0.24 * len(rows) + 1.1)
    ax = figure.subplots()
    start = np.zeros(len(rows))
    for kind, name in enumerate(patterns["names"]):
        share = 100 * np.array([shares[kind] for _, shares in rows])
        ax.barh(range(len(rows)), share, left=start, height=0.8, color=PATTERNS[kind], label=name)
        start += share
    ax.set_yticks(range(len(rows)), labels=[name for name, _ in rows], fontsize=7)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("maps (%)")
    figure.legend(*ax.get_legend_handles_labels(), fontsize=7, frameon=False, ncols=5, loc="outside upper center")
    return figure


def draw_histogram(figure: Figure, colouring: Colouring) -> Figure:
    """A histogram of the scores with one head ablated."""
    figure.set_size_inches(4.2, 2.6)
    ax = figure.subplots()
    base = colouring["baseline"]
    values = np.array([value for value in colouring["values"] if value is not None]) + base
    ax.hist(values, bins=24, color="#5b7fa6")
    ax.axvline(base, color="#d55e00", linewidth=1.5, linestyle="--", label=f"baseline {base:.3f}")
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(f"{colouring['unit']} without the head")
    ax.set_ylabel("heads")
    ax.legend(fontsize=7, frameon=False)
    return figure
