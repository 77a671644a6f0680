"""Figures for papers, in the look of the papers' own: heads as a heat map, layers as bars, curves, a histogram."""

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
from headcount.reporting.document import check_output, replace_file
from headcount.reporting.metrics import Metric, effect_of, find_metrics
from headcount.reporting.patterns import read_patterns
from headcount.reporting.series import find_curves, find_layers
from headcount.reporting.view import View, read_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf", ".png")
SIDE = 0.32
"""Inches of a head's square."""
ORDERS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
KINDS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7")
"""As on the page."""


def figure(study: StudyLike, what: str = "ablation", output: str | Path | None = None) -> Figure:
    """One figure of a study, as matplotlib draws it; `output`: also written to this file, as svg, pdf or png.

    `what`: "ablation", "layers", "histogram", "importance", "curve", "patterns", or a number such as "special.sep".
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
    """What draws the figure of this name; what there is, where there is no such one."""
    metrics = find_metrics(view)
    effect, layers, curves = effect_of(metrics), find_layers(view), find_curves(view)
    known: dict[str, Callable[[Figure], Figure]] = {}
    if effect is not None:
        known["ablation"] = partial(draw_heads, view=view, metric=effect)
        known["histogram"] = partial(draw_histogram, metric=effect)
    if layers:
        known["layers"] = partial(draw_layers, one=layers[0])
    if curves:
        told = next((one for one in curves if one["name"].endswith("-confirming")), curves[0])
        known["curve"] = partial(draw_curve, one=told)
    patterns = read_patterns(view)
    if patterns is not None and patterns["stacks"]:
        known["patterns"] = partial(draw_patterns, told=patterns)
    importance = next((one for one in metrics if one["id"].startswith("pruning/importance")), None)
    if importance is not None:
        known["importance"] = partial(draw_heads, view=view, metric=importance)
    for metric in metrics:
        if metric["kind"] != "category":
            known.setdefault(short_id(metric), partial(draw_heads, view=view, metric=metric))
    if not known:
        raise StudyProblem("the study has nothing to draw yet; run headcount sweep or headcount measure first")
    if what not in known:
        plain = [name for name in known if "." not in name]
        numbers = [name for name in known if "." in name]
        near = get_close_matches(what, numbers, n=4, cutoff=0.3)
        example = next(iter(numbers), None)
        others = (
            f", and {len(known) - len(plain)} numbers such as {', '.join(near or [str(example)])}" if example else ""
        )
        raise InvalidOption(
            f"got the figure {what!r}; this study has {', '.join(plain) or 'none of the usual ones'}{others}"
        )
    return known[what]


def short_id(metric: Metric) -> str:
    """`special.sep` for `measures/special:sep`, `links.verb-to-subject.gain` for a relation.

    >>> short_id({"id": "measures/special:sep"}), short_id({"id": "measures/links@words/verb to subject:gain"})
    ('special.sep', 'links@words.verb-to-subject.gain')
    """
    place, variable = str(metric["id"]).rsplit(":", 1)
    kind, *rest = place.split("/")
    name = ".".join(part.replace(" ", "-") for part in rest)
    return f"{'change.' if kind == 'compare' else ''}{name}.{variable}"


def draw_heads(figure: Figure, view: View, metric: Metric) -> Figure:
    """A heat map for each stack, layers downwards and heads across, the baseline as a line in the colour bar."""
    stacks = {stack: layers for stack, layers in view.layout.stacks.items() if layers}
    widths = [max(1, view.layout.width(stack)) for stack in stacks]
    deepest = max(len(layers) for layers in stacks.values())
    figure.set_size_inches(SIDE * sum(widths) + 1.9, SIDE * deepest + 1.2)
    base = metric.get("baseline")
    values = np.array([np.nan if value is None else value for value in metric["values"]]) + (base or 0.0)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if base is not None:
        low, high = min(low, base), max(high, base)
    axes = figure.subplots(1, len(stacks), squeeze=False, width_ratios=widths)[0]
    heads = list(view.layout)
    image: Any = None
    for ax, (stack, layers), width in zip(axes, stacks.items(), widths, strict=True):
        square = np.full((len(layers), width), np.nan)
        for head, value in zip(heads, values, strict=True):
            if head.stack == stack:
                square[head.layer, head.head] = value
        image = ax.imshow(square, cmap="viridis", vmin=low, vmax=high, aspect="equal")
        _mark_sure(ax, view, metric, stack)
        ax.set_xticks(range(width), labels=[str(one) for one in range(width)], fontsize=7)
        ax.set_yticks(range(len(layers)), labels=[str(one) for one in range(len(layers))], fontsize=7)
        ax.set_xlabel("head")
        ax.set_ylabel("layer" if len(stacks) == 1 else f"layer ({stack})")
    bar = figure.colorbar(image, ax=list(axes), shrink=0.85)
    bar.set_label(metric["unit"] if base is None else f"{metric['unit']} without the head")
    if base is not None:
        bar.ax.axhline(base, color="#d62728", linewidth=2)
        bar.ax.set_title(f"baseline\n{base:.3f}", fontsize=7, color="#d62728")
    figure.suptitle(
        metric["title"] if base is None else metric["title"].replace("Change of ", "").capitalize(), fontsize=10
    )
    return figure


def _mark_sure(ax: Axes, view: View, metric: Metric, stack: str) -> None:
    """A dot on the heads whose effect is sure."""
    for head, q in zip(view.layout, metric.get("q") or [], strict=False):
        if head.stack == stack and q is not None and q < LEVEL:
            ax.plot(head.head, head.layer, "o", color="white", markeredgecolor="black", markersize=4)


def draw_layers(figure: Figure, one: dict[str, Any]) -> Figure:
    """The score without each layer, with intervals, beside the baseline."""
    rows = one["rows"]
    figure.set_size_inches(max(3.5, 0.35 * len(rows) + 1.2), 2.8)
    ax = figure.subplots()
    score = np.array([row["score"] for row in rows])
    ends = np.array(
        [[row["score"] - one["baseline"] - row["low"], row["high"] - row["score"] + one["baseline"]] for row in rows]
    ).T
    ax.bar(range(len(rows)), score, yerr=np.maximum(ends, 0), color="#5b7fa6", error_kw={"linewidth": 0.8})
    ax.axhline(one["baseline"], color="#d55e00", linewidth=1.5, label=f"baseline {one['baseline']:.3f}")
    low = min(one["baseline"], float(np.min(score - ends[0])))
    high = max(one["baseline"], float(np.max(score + ends[1])))
    room = high - low or 0.1
    ax.set_ylim(low - 0.15 * room, high + 0.1 * room)
    ax.set_xticks(
        range(len(rows)), labels=[row["layer"] for row in rows], fontsize=7, rotation=90 if len(rows) > 16 else 0
    )
    ax.set_xlabel("layer left out")
    ax.set_ylabel(one["metric"])
    ax.legend(fontsize=7, frameon=False)
    return figure


def draw_curve(figure: Figure, one: dict[str, Any]) -> Figure:
    """Score against the share of heads gone, for every order; random ones as a band; a paper's curve behind."""
    figure.set_size_inches(4.6, 3.2)
    ax = figure.subplots()
    gone = np.array([0, *one["removed"]]) / one["heads"]
    if one["published"] is not None:
        ax.plot(
            one["published"]["gone"], one["published"]["score"], ":", color="gray", label=one["published"]["source"]
        )
    randoms = [line["score"] for line in one["lines"] if line["order"].startswith("random")]
    if randoms:
        scores = np.array([[one["baseline"], *line] for line in randoms], dtype=float)
        ax.fill_between(gone, scores.min(0), scores.max(0), color="gray", alpha=0.25)
        ax.plot(gone, scores.mean(0), color="gray", label="random")
    named = [line for line in one["lines"] if not line["order"].startswith("random")]
    for line, colour in zip(named, ORDERS * (1 + len(named) // len(ORDERS)), strict=False):
        score, low, high = (np.array([one["baseline"], *line[key]], dtype=float) for key in ("score", "low", "high"))
        ax.fill_between(gone, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(gone, score, "o-", color=colour, markersize=3, label=line["order"])
    ax.axhline(one["baseline"], color="black", linewidth=0.6, linestyle="--")
    ax.set_xlabel(f"{one['said']['removed']['title']} (share)")
    ax.set_ylabel(one["metric"])
    ax.legend(fontsize=7, frameon=False)
    return figure


def draw_patterns(figure: Figure, told: dict[str, Any]) -> Figure:
    """The shares of patterns among all maps and those of each layer; a paper's shares above, where there are some."""
    rows: list[tuple[str, list[float]]] = []
    if told["published"] is not None:
        rows.append((told["published"]["source"].replace(", Figure", ",\nFigure"), told["published"]["share"]))
    for stack in told["stacks"]:
        mark = f" ({stack['stack']})" if len(told["stacks"]) > 1 else ""
        rows.append((f"all maps{mark}", stack["share"]))
        rows += [(f"L{number}{mark}", share) for number, share in enumerate(stack["layers"]) if share is not None]
    figure.set_size_inches(5.6, 0.24 * len(rows) + 1.1)
    ax = figure.subplots()
    start = np.zeros(len(rows))
    for kind, name in enumerate(told["names"]):
        share = 100 * np.array([one[kind] for _, one in rows])
        ax.barh(range(len(rows)), share, left=start, height=0.8, color=KINDS[kind], label=name)
        start += share
    ax.set_yticks(range(len(rows)), labels=[name for name, _ in rows], fontsize=7)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("maps (%)")
    figure.legend(*ax.get_legend_handles_labels(), fontsize=7, frameon=False, ncols=5, loc="outside upper center")
    return figure


def draw_histogram(figure: Figure, metric: Metric) -> Figure:
    """How often each score occurs without one head."""
    figure.set_size_inches(4.2, 2.6)
    ax = figure.subplots()
    values = np.array([value for value in metric["values"] if value is not None]) + metric["baseline"]
    ax.hist(values, bins=24, color="#5b7fa6")
    ax.axvline(
        metric["baseline"], color="#d55e00", linewidth=1.5, linestyle="--", label=f"baseline {metric['baseline']:.3f}"
    )
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(f"{metric['unit']} without the head")
    ax.set_ylabel("heads")
    ax.legend(fontsize=7, frameon=False)
    return figure
