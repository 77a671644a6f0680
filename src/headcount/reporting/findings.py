"""What a study found, in plain sentences: every figure with its interval."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import choose_cut, significant
from headcount.core.cut_story import tell_cut, tell_selection, tell_verdict
from headcount.core.results import HEAD_DIMS
from headcount.core.story import tell_sweep
from headcount.reporting.patterns import read_patterns
from headcount.reporting.view import View

TOLERANCE = 1.0
"""Points that a smaller model may lose, in the page's sentence."""
STANDING_OUT = (
    ("position", "previous", "the previous token"),
    ("position", "next", "the next token"),
    ("special", "sep", "[SEP]"),
    ("special", "cls", "[CLS]"),
    ("special", "first", "the first token"),
    ("repeated", "attention", "the same word in the other text"),
    ("rare", "attention", "the rarest word"),
)


def find_sentences(view: View) -> list[str]:
    """The sentences at the top of a page."""
    said = []
    for name, dataset in view.of("sweep").items():
        if dataset.attrs.get("by") == "head":
            attributes = dataset.attrs
            said.append(
                f"{short_name(attributes['model'])} on {attributes['task']}, without one head at a time ({name}):"
            )
            said += tell_sweep(dataset)
            said += _unsure(dataset)
        elif dataset.attrs.get("by") == "layer":
            said += _layers(view, dataset)
    said += _curves(view)
    said += _changes(view)
    said += _standing_out(view)
    said += _patterns(view)
    return said


def short_name(model: str) -> str:
    """The last part of a path, the whole of a name on the hub, and the name of a model that comes with the package.

    >>> short_name("/home/me/models/tuned/"), short_name("google/bert"), short_name("lib/headcount/zoo/data/qnli")
    ('tuned', 'google/bert', 'bundled:qnli')
    """
    parts = [part for part in str(model).replace("\\", "/").split("/") if part]
    if parts[-3:-1] == ["zoo", "data"]:
        return f"bundled:{parts[-1]}"
    if not parts:
        return str(model)
    return "/".join(parts[-2:]) if len(parts) == 2 and not str(model).startswith(("/", ".")) else parts[-1]


def _unsure(dataset: xr.Dataset) -> list[str]:
    q = dataset["q"].values.ravel()
    unsure = np.isfinite(q) & ~significant(q)
    if not unsure.any():
        return []
    wide = float((dataset["high"] - dataset["low"]).values.ravel()[unsure].mean())
    return [
        (
            f"No significant effect is not proof of no effect: with {dataset.sizes['example']} examples the intervals "
            f"of {int(unsure.sum())} heads are {wide:.4f} wide on average."
        )
    ]


def _layers(view: View, dataset: xr.Dataset) -> list[str]:
    sign = 1 if dataset.attrs.get("higher_is_better", True) else -1
    delta = sign * dataset["delta"].values
    place = np.unravel_index(int(np.nanargmin(delta)), delta.shape)
    stack, layer = str(dataset["stack"].values[place[0]]), int(dataset["layer"].values[place[1]])
    one = dataset.isel(stack=place[0], layer=place[1])
    change = f"{float(one['delta']):+.4f} [{float(one['low']):+.4f}, {float(one['high']):+.4f}]"
    several = len(dataset["stack"]) > 1 or len(view.layout.stacks) > 1
    spelled = f"{stack}.L{layer}" if several else f"L{layer}"
    q = float(one["q"])
    sure = "significant" if significant(np.array(q)) else "not significant"
    return [
        (
            f"Without the heads of {spelled} {dataset.attrs['metric']} suffers most: it changes by {change} "
            f"({sure}, q = {q:.2g})."
        )
    ]


def _curves(view: View) -> list[str]:
    """How many heads can go: selected on one half of the data where there are two, evaluated on the other."""
    found = view.of("pruning")
    said = []
    for name, held_out in found.items():
        if not name.startswith("curve") or name.endswith("-choosing") or view.along(name):
            continue
        selection = found.get(name.removesuffix("-confirming") + "-choosing")
        order = str(held_out["order"].values[0])
        if selection is None or "bound_low" not in held_out:
            continue  # nothing was held out, or an older study has no bounds: there is a chart, but no claim
        cut = choose_cut(selection, order, TOLERANCE)
        said.append(tell_selection(selection, order, TOLERANCE))
        count = cut.count or cut.by_estimate
        if count:
            said += [tell_cut(held_out, order, count), tell_verdict(held_out, order, count, TOLERANCE)]
    return said


def _changes(view: View) -> list[str]:
    cosine = view.of("compare").get("cosine")
    if cosine is None:
        return []
    values = cosine["maps"].transpose(*HEAD_DIMS).values
    place = np.unravel_index(int(np.nanargmin(values)), values.shape)
    one = cosine.isel(stack=place[0], layer=place[1], head=place[2])
    stack = f"{one['stack'].item()}." if len(view.layout.stacks) > 1 else ""
    head = f"{stack}L{int(one['layer'])}H{int(one['head'])}"
    spread = f"[{float(one['maps_low']):.3f}, {float(one['maps_high']):.3f}]"
    before, after = short_name(cosine.attrs["model"]), short_name(cosine.attrs.get("other_model", "the other model"))
    median = float(np.nanmedian(values))
    return [
        (
            f"Between {before} and {after} the maps of {head} differ most (cosine {float(one['maps']):.3f} {spread}; "
            f"1 is identical), against {median:.3f} for the median head."
        )
    ]


def _patterns(view: View) -> list[str]:
    told = read_patterns(view)
    if told is None:
        return []
    said = []
    for stack in told["stacks"]:
        order = sorted(range(len(told["names"])), key=lambda place: -stack["share"][place])
        ends = [(told["names"][one], *(100 * stack[end][one] for end in ("share", "low", "high"))) for one in order]
        parts = ", ".join(f"{name} {share:.0f} % [{low:.0f}, {high:.0f}]" for name, share, low, high in ends)
        whose = f" of the {stack['stack']}" if len(told["stacks"]) > 1 else ""
        f1, low, high = (told["rule"][key] for key in ("f1", "f1_low", "f1_high"))
        said.append(
            f"What the maps{whose} look like: {parts}; named by a rule whose macro F1 is {f1:.2f} "
            f"[{low:.2f}, {high:.2f}] on families of models that it has not seen."
        )
    return said


def _standing_out(view: View) -> list[str]:
    measures = view.of("measures")
    parts = []
    for measure, variable, what in STANDING_OUT:
        dataset = measures.get(measure)
        if dataset is None or variable not in dataset:
            continue
        values = dataset[variable].transpose(*HEAD_DIMS).values
        if not (np.nan_to_num(values) > 0).any():
            continue  # unknown, or zero for every head, as the next token is in a causal model: no head is the most
        place = np.unravel_index(int(np.nanargmax(values)), values.shape)
        one = dataset.isel(stack=place[0], layer=place[1], head=place[2])
        stack = f"{one['stack'].item()}." if len(view.layout.stacks) > 1 else ""
        spread = f"[{float(one[f'{variable}_low']):.2f}, {float(one[f'{variable}_high']):.2f}]"
        head = f"{stack}L{int(one['layer'])}H{int(one['head'])}"
        parts.append(f"{what} {head} ({float(one[variable]):.2f} {spread})")
    return [f"The head that looks most at each: {'; '.join(parts)}."] if parts else []
