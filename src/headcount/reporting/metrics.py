"""Everything a study can colour its heads by: one list of values for each result, with intervals and tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema
from headcount.reporting.patterns import measured
from headcount.reporting.view import View, number
from headcount.story.earlier import schemas_of
from headcount.story.roles import find_roles
from headcount.story.sweeps import REPLACED

Metric = dict[str, Any]
"""id, title, group, unit, says, kind (diverging, sequential, category), values by head, and low, high, p, q, if any."""


def find_metrics(view: View) -> list[Metric]:
    """The metrics of a study, the ones that people look for first in front."""
    found = [*_sweeps(view), *_importance(view), *_patterns(view), *_roles(view)]
    for kind in ("measures", "compare"):
        for name, dataset in view.of(kind).items():
            found += _variables(view, f"{kind}/{name}", dataset)
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
        attributes = dataset.attrs
        for metric in _variables(view, f"sweep/{name}", dataset):
            replaced = REPLACED.get(attributes["how"], attributes["how"])
            alone = attributes["by"] == "all-but-one"
            prefix = "loss_" if metric["id"].endswith(":loss_delta") else ""
            metric["says"] += f" ({replaced}{' for all the others' if alone else ''})"
            metric |= {key: view.by_head(dataset[f"{prefix}{key}"]) for key in ("low", "high", "p", "q")}
            metric |= {
                "higher": not prefix and bool(attributes.get("higher_is_better", True)),
                "how": attributes["how"],
            }
            if not prefix:
                metric |= {"baseline": number(float(dataset["baseline"]), 6), "effect": True}
            found.append((alone or bool(prefix), metric))
    metrics = [metric for _, metric in sorted(found, key=lambda one: one[0])]
    titles = Counter(metric["title"] for metric in metrics)
    for metric in metrics:  # two replacements of the same heads: the title says which
        metric["title"] += f" ({metric['how']})" if titles[metric["title"]] > 1 else ""
    return metrics


def _importance(view: View) -> list[Metric]:
    """Importance, then learned gates."""
    return [
        metric
        for kind in ("importance", "gates")
        for name, dataset in view.of("pruning").items()
        if name.split("@")[0] == kind and not view.along(name)
        for metric in _variables(view, f"pruning/{name}", dataset)
    ]


def _patterns(view: View) -> list[Metric]:
    name, dataset = measured(view)
    if dataset is None or not np.isfinite(dataset["mostly"].values).any():
        return []
    return [
        {
            "id": "patterns",
            "title": f"The pattern of its maps{_suffix(name)}",
            "group": "What its maps look like",
            "unit": "",
            "kind": "category",
            "says": "what its maps look like in most texts; a click on a head shows some",
            "values": [None if one is None else int(one) for one in view.by_head(dataset["mostly"])],
            "names": [str(one) for one in dataset["pattern"].values],
        }
    ]


def _roles(view: View) -> list[Metric]:
    own = {name: dataset for name, dataset in view.of("measures").items() if "@" not in name}
    roles, names = find_roles(own, view.by_head)
    if not names:
        return []
    return [
        {
            "id": "roles",
            "title": "What it mostly does",
            "group": "What it looks at",
            "unit": "",
            "kind": "category",
            "says": "a rule of thumb: the first of these that takes half of its attention or stands out",
            "values": roles,
            "names": names,
        }
    ]


def _variables(view: View, name: str, dataset: xr.Dataset) -> list[Metric]:
    """The variables of a result that its schemas show; one with a further dimension as several."""
    found = []
    for variable, schema in schemas_of(name, dataset).items():
        further = [str(dim) for dim in dataset[variable].dims[len(HEAD_DIMS) :]]
        if not schema.shown or len(further) > 1:
            continue
        if not further:
            found.append(_metric(view, name, dataset, variable, schema))
            continue
        for number_of, label in enumerate(dataset[further[0]].values):
            part = dataset.isel({further[0]: number_of})  # by its number: a label may be any text
            titled = replace(schema, title=f"{str(label).capitalize()}: {schema.title}")
            found.append(_metric(view, f"{name}/{label}", part, variable, titled))
    return [metric for metric in found if any(value is not None for value in metric["values"])]


def _suffix(name: str) -> str:
    """What tells results of the same kind apart: their own name."""
    return f" ({name.split('@', 1)[1].split('/')[0]})" if "@" in name else ""


def _metric(view: View, name: str, dataset: xr.Dataset, variable: str, schema: Schema) -> Metric:
    metric: Metric = {
        "id": f"{name}:{variable}",
        "title": schema.title + _suffix(name),
        "group": schema.category,
        "unit": schema.unit,
        "says": schema.direction,
        "kind": "category" if schema.names is not None else "diverging" if schema.signed else "sequential",
        "values": view.by_head(dataset[variable]),
    }
    if f"{variable}_low" in dataset and f"{variable}_high" in dataset:
        metric |= {end: view.by_head(dataset[f"{variable}_{end}"]) for end in ("low", "high")}
    if schema.names is not None:
        used = sorted({int(value) for value in metric["values"] if value is not None})
        kinds = list(range(len(schema.names))) or used
        metric["names"] = list(schema.names) or [f"group {kind}" for kind in used]
        metric["values"] = [None if value is None else kinds.index(int(value)) for value in metric["values"]]
    return metric


def effect_of(metrics: list[Metric]) -> Metric | None:
    """The effect of ablation that a page begins with."""
    return next((metric for metric in metrics if metric.get("effect")), None)
