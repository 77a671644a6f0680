"""What a study found, in plain sentences: every figure with its interval."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.story import tell_sweep
from headcount.reporting.patterns import find_patterns
from headcount.reporting.view import View

POINT = 0.01
"""What a smaller model may lose: one point of a score from 0 to 1."""
STANDING_OUT = (
    ("position", "previous", "the previous token"), ("position", "next", "the next token"),
    ("special", "sep", "[SEP]"), ("special", "cls", "[CLS]"), ("special", "first", "the first token"),
    ("repeated", "attention", "the same word in the other text"), ("rare", "attention", "the rarest word"),
)  # fmt: skip


def find_sentences(view: View) -> list[str]:
    """The sentences at the top of a page."""
    said = []
    for name, dataset in view.of("sweep").items():
        if dataset.attrs.get("by") == "head":
            attributes = dataset.attrs
            said.append(
                f"{short_name(attributes['model'])} on {attributes['task']}, without one head at a time ({name}):"
            )
            said += tell_sweep(dataset, bool(attributes["higher_is_better"]))
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
    unsure = int((np.isfinite(q) & (q >= 0.05)).sum())
    if not unsure:
        return []
    wide = float((dataset["high"] - dataset["low"]).values.ravel()[np.isfinite(q) & (q >= 0.05)].mean())
    return [
        (
            f"For {unsure} heads no change can be told from chance on {dataset.sizes['example']} examples (their "
            f"intervals are {wide:.4f} wide on average): that is not proof that they do nothing."
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
    return [f"The layer needed most is {spelled}: without its heads {dataset.attrs['metric']} changes by {change}."]


def _curves(view: View) -> list[str]:
    """How many heads can go for how much: chosen on one part of the data where there are two, told on the other."""
    found = view.of("pruning")
    said = []
    for name, told in found.items():
        if not name.startswith("curve") or name.endswith("-choosing") or view.along(name):
            continue
        chooses = found.get(name.replace("-confirming", "-choosing"), told)
        order = str(told["order"].values[0])
        sign = 1 if told.attrs.get("higher_is_better", True) else -1
        point = POINT if abs(float(told["baseline"])) <= 1 else 100 * POINT
        good = sign * chooses["delta"].sel(order=order).values >= -point - 1e-12
        counts = [int(count) for count, fine in zip(chooses["removed"].values, good, strict=True) if fine]
        if not counts:
            said.append(f"Ordered by {order}, already the first step of the curve costs more than a point.")
            continue
        step = told.sel(order=order, removed=max(counts))
        change = f"{float(step['delta']):+.4f} [{float(step['low']):+.4f}, {float(step['high']):+.4f}]"
        which = "that did not choose them" if chooses is not told else "that also chose their number"
        said.append(
            f"{max(counts)} of {told.attrs['heads']} heads can go within a point, ordered by {order}: on "
            f"{told.attrs['examples']} examples {which} {told.attrs['metric']} changes by {change}."
        )
    return said


def _changes(view: View) -> list[str]:
    cosine = view.of("compare").get("cosine")
    if cosine is None:
        return []
    values = cosine["maps"].transpose(*HEAD_DIMS).values
    place = np.unravel_index(int(np.nanargmin(values)), values.shape)
    one = cosine.isel(stack=place[0], layer=place[1], head=place[2])
    stack = f"{one['stack'].item()}." if len(view.layout.stacks) > 1 else ""
    means = [(float(np.nanmean(row)), layer) for layer, row in enumerate(values[place[0]]) if np.isfinite(row).any()]
    spread = f"[{float(one['maps_low']):.3f}, {float(one['maps_high']):.3f}]"
    return [
        (
            f"Fine-tuning changed the maps of {stack}L{int(one['layer'])}H{int(one['head'])} most (cosine "
            f"{float(one['maps']):.3f} {spread}; 1 is unchanged); the layer changed most: {stack}L{min(means)[1]}."
        )
    ]


def _patterns(view: View) -> list[str]:
    told = find_patterns(view)
    if told is None:
        return []
    said = []
    for stack in told["stacks"]:
        order = sorted(range(len(told["names"])), key=lambda place: -stack["share"][place])
        ends = [(told["names"][one], *(100 * stack[end][one] for end in ("share", "low", "high"))) for one in order]
        parts = ", ".join(f"{name} {share:.0f} % [{low:.0f}, {high:.0f}]" for name, share, low, high in ends)
        whose = f" of the {stack['stack']}" if len(told["stacks"]) > 1 else ""
        said.append(f"What the maps{whose} look like: {parts}; named by a rule that is right in "
                    f"{100 * told['rule']['accuracy']:.0f} % of labelled maps of other models.")  # fmt: skip
    return said


def _standing_out(view: View) -> list[str]:
    measures = view.of("measures")
    parts = []
    for measure, variable, what in STANDING_OUT:
        dataset = measures.get(measure)
        if dataset is None or variable not in dataset:
            continue
        values = dataset[variable].transpose(*HEAD_DIMS).values
        if np.isnan(values).all():
            continue
        place = np.unravel_index(int(np.nanargmax(values)), values.shape)
        one = dataset.isel(stack=place[0], layer=place[1], head=place[2])
        stack = f"{one['stack'].item()}." if len(view.layout.stacks) > 1 else ""
        spread = f"[{float(one[f'{variable}_low']):.2f}, {float(one[f'{variable}_high']):.2f}]"
        head = f"{stack}L{int(one['layer'])}H{int(one['head'])}"
        parts.append(f"{what} {head} ({float(one[variable]):.2f} {spread})")
    return [f"The head that looks most at each: {'; '.join(parts)}."] if parts else []
