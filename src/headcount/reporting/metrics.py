"""Everything a study can colour its heads by: one list of values for each result, with intervals and tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.reporting.labels import CHOICES, SIGNED, Label, find_label
from headcount.reporting.patterns import measured
from headcount.reporting.roles import find_roles
from headcount.reporting.view import View, number

Metric = dict[str, Any]
"""id, title, group, unit, says, kind (diverging, sequential, category), values by head, and low, high, p, q, if any."""
BEYOND = ("feature", "link", "pattern", "shape")
"""Further dimensions whose places are metrics of their own."""
HIDDEN = {("distances", "x"), ("distances", "y"), ("patterns", "mostly")}
PATTERNS = "What its maps look like"
HOW = {"uniform": "it looks everywhere alike", "zero": "its output is 0", "mean": "its output is its mean"}


def find_metrics(view: View) -> list[Metric]:
    """The metrics of a study, the ones that people look for first in front."""
    found = [*_sweeps(view), *_importance(view), *_patterns(view), *_roles(view)]
    for kind, group in (("measures", "What it looks at"), ("compare", "Changed by fine-tuning")):
        for name, dataset in view.of(kind).items():
            found += _measure(view, kind, name, dataset, group)
    return found or _present(view)


def _present(view: View) -> list[Metric]:
    """A study of maps alone has no number to colour by, but heads to click on."""
    if not view.layout.count:
        return []
    return [
        {
            "id": "present",
            "title": "The heads of the model",
            "group": "",
            "unit": "",
            "kind": "category",
            "says": "no number of this study is about single heads; click one to see where it looks",
            "values": [0] * view.layout.count,
            "names": ["a head"],
        }
    ]


def _sweeps(view: View) -> list[Metric]:
    found = []
    for name, dataset in view.of("sweep").items():
        if "delta" not in dataset or dataset["delta"].dims != HEAD_DIMS:
            continue
        attributes = dataset.attrs
        higher = bool(attributes.get("higher_is_better", True))
        how = HOW.get(attributes["how"], attributes["how"])
        what = "without the head" if attributes["by"] == "head" else "with this head alone in its layer"
        title = f"Change of {attributes['metric']} {what}{_suffix(name)}"
        worse, better = ("below", "above") if higher else ("above", "below")
        says = (
            f"{worse} 0: the head is needed; {better} 0: better without it ({how})"
            if attributes["by"] == "head"
            else f"near 0: this head does for its layer; {worse} 0: it needs others too ({how} for all the others)"
        )
        metric = _values(
            view,
            dataset,
            "delta",
            Label(title, attributes["metric"], says),
            "Without the head",
            f"sweep/{name}",
            "diverging",
            low="low",
            high="high",
        )
        metric |= {
            "p": view.by_head(dataset["p"]),
            "q": view.by_head(dataset["q"]),
            "baseline": number(float(dataset["baseline"]), 6),
            "higher": higher,
            "how": attributes["how"],
            "effect": True,
        }
        found.append((attributes["by"] != "head", metric))
        if "loss_delta" in dataset and attributes["by"] == "head":
            says = f"above 0: the head is needed; below 0: better without it ({how}); more sensitive than a score"
            label = Label(f"Change of the loss {what}{_suffix(name)}", "nats", says)
            loss = _values(
                view,
                dataset,
                "loss_delta",
                label,
                "Without the head",
                f"sweep/{name}",
                "diverging",
                low="loss_low",
                high="loss_high",
            )
            loss |= {
                "p": view.by_head(dataset["loss_p"]),
                "q": view.by_head(dataset["loss_q"]),
                "higher": False,
                "how": attributes["how"],
            }
            found.append((True, loss))
    metrics = [metric for _, metric in sorted(found, key=lambda one: one[0])]
    titles = Counter(metric["title"] for metric in metrics)
    for metric in metrics:  # two replacements of the same heads: the title says which
        metric["title"] += f" ({metric['how']})" if titles[metric["title"]] > 1 else ""
    return metrics


def _importance(view: View) -> list[Metric]:
    found = []
    for name, dataset in view.of("pruning").items():
        if dataset.attrs.get("measure") != "importance" or view.along(name):
            continue
        for variable in ("michel", "michel_normed", "taylor", "gate", "norm"):
            if variable in dataset:
                label = find_label("importance", variable)
                kind = "diverging" if ("importance", variable) in SIGNED else "sequential"
                place = f"pruning/{name}"
                found.append(_values(view, dataset, variable, label, "Without the head", place, kind, _suffix(name)))
    return found


def _patterns(view: View) -> list[Metric]:
    name, dataset = measured(view)
    if dataset is None or not np.isfinite(dataset["mostly"].values).any():
        return []
    return [
        {
            "id": "patterns",
            "title": f"The pattern of its maps{_suffix(name)}",
            "group": PATTERNS,
            "unit": "",
            "kind": "category",
            "says": "what its maps look like in most texts; a click on a head shows some",
            "values": [None if one is None else int(one) for one in view.by_head(dataset["mostly"])],
            "names": [str(one) for one in dataset["pattern"].values],
        }
    ]


def _roles(view: View) -> list[Metric]:
    roles = find_roles(view)
    if roles is None or not roles[1]:
        return []
    names, kinds = roles
    return [
        {
            "id": "roles",
            "title": "What it mostly does",
            "group": "What it looks at",
            "unit": "",
            "kind": "category",
            "says": "a rule of thumb: the first of these that takes half of its attention or stands out",
            "values": names,
            "names": kinds,
        }
    ]


def _measure(view: View, kind: str, name: str, dataset: xr.Dataset, group: str) -> list[Metric]:
    measure = name.split("@")[0]
    found = []
    for key, array in dataset.data_vars.items():
        variable = str(key)
        if variable.startswith("values_") or variable.endswith(("_low", "_high")) or (measure, variable) in HIDDEN:
            continue
        changed = kind == "compare" and measure != "cosine"
        signed = changed or (measure, variable) in SIGNED
        shape = "category" if (measure, variable) in CHOICES else "diverging" if signed else "sequential"
        label = find_label(measure, variable)
        if changed:
            label = Label(f"Change: {label.title}", label.unit, "above 0: more after fine-tuning")
        place = f"{kind}/{name}"
        if measure == "patterns" and kind == "measures":
            group = PATTERNS
        if array.dims == HEAD_DIMS:
            found.append(_values(view, dataset, variable, label, group, place, shape, _suffix(name)))
        elif array.dims[:-1] == HEAD_DIMS and array.dims[-1] in BEYOND:
            last = str(array.dims[-1])
            for at, choice in enumerate(array[last].values):
                title = f"{str(choice).capitalize()}: {label.title}"
                one = Label(title, label.unit, label.says)
                part = dataset.isel({last: at})  # by its place: a label may be any text
                found.append(_values(view, part, variable, one, group, f"{place}/{choice}", shape, _suffix(name)))
    return [metric for metric in found if any(value is not None for value in metric["values"])]


def _suffix(name: str) -> str:
    """What tells results of the same kind apart: their own name."""
    return f" ({name.split('@', 1)[1]})" if "@" in name else ""


def _values(
    view: View,
    dataset: xr.Dataset,
    variable: str,
    label: Label,
    group: str,
    place: str,
    kind: str,
    suffix: str = "",
    low: str = "",
    high: str = "",
) -> Metric:
    metric: Metric = {
        "id": f"{place}:{variable}",
        "title": label.title + suffix,
        "group": group,
        "unit": label.unit,
        "says": label.says,
        "kind": kind,
        "values": view.by_head(dataset[variable]),
    }
    ends = {"low": low or f"{variable}_low", "high": high or f"{variable}_high"}
    if all(end in dataset for end in ends.values()):
        metric |= {side: view.by_head(dataset[end]) for side, end in ends.items()}
    if kind == "category":
        seen = sorted({value for value in metric["values"] if value is not None})
        yes_no = seen and set(seen) <= {0.0, 1.0} and variable != "cluster"
        metric["names"] = ["no", "yes"] if yes_no else [f"group {int(value)}" for value in seen]
        places = {value: int(value) if yes_no else number for number, value in enumerate(seen)}
        metric["values"] = [None if value is None else places[value] for value in metric["values"]]
    return metric


def effect_of(metrics: list[Metric]) -> Metric | None:
    """The effect of ablation that a page begins with."""
    return next((metric for metric in metrics if metric.get("effect")), None)
