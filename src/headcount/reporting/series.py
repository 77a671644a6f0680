"""Results that are not one number per head: layers, curves, training dynamics, the map of heads, costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.claims import SETTLED
from headcount.core.results import HEAD_DIMS
from headcount.core.sweep_schemas import inputs_of
from headcount.reporting.published import find_published
from headcount.reporting.view import View, number
from headcount.story.earlier import series_schemas
from headcount.story.patches import falls_with_it, is_patched

COSTS = ("ms", "ms_low", "ms_high", "per_second", "flops", "peak_bytes", "parameters", "attention_parameters", "bytes")


def titles_of(dataset: xr.Dataset) -> dict[str, dict[str, str]]:
    """What the variables of a result are called, and in which unit they are."""
    return {name: {"title": schema.title, "unit": schema.unit} for name, schema in series_schemas(dataset).items()}


def numbers(values: Any) -> list[float | None]:
    return [number(float(value)) for value in np.asarray(values).ravel()]


def find_layers(view: View) -> list[dict[str, Any]]:
    """Sweeps by layer: the score without all heads of each layer, or with those of another input, and the baseline."""
    sweeps = []
    for name, dataset in view.of("sweep").items():
        if "delta" not in dataset or dataset["delta"].dims != HEAD_DIMS[:2]:
            continue
        rows = []
        several = len(dataset["stack"]) > 1 or len(view.layout.stacks) > 1
        for index, stack in enumerate(dataset["stack"].values):
            for layer in range(dataset.sizes["layer"]):
                effect = dataset.isel(stack=index, layer=layer)
                if np.isfinite(float(effect["delta"])):
                    rows.append(
                        {
                            "layer": f"{stack}.L{layer}" if several else f"L{layer}",
                            **{key: number(float(effect[key])) for key in ("score", "delta", "low", "high", "q")},
                        }
                    )
        sweeps.append(
            {
                "name": name,
                "metric": dataset.attrs["metric"],
                "baseline": number(float(dataset["baseline"]), 6),
                "patched": dict(zip(("ran", "given"), inputs_of(dataset.attrs["direction"]), strict=True))
                if is_patched(dataset)
                else None,
                "higher": falls_with_it(dataset)
                if is_patched(dataset)
                else bool(dataset.attrs.get("higher_is_better", True)),
                "rows": rows,
            }
        )
    return sweeps


def find_curves(view: View) -> list[dict[str, Any]]:
    """Pruning curves: the score as heads are removed in each order, and a published curve if there is one."""
    curves = []
    for name, dataset in view.of("pruning").items():
        if not name.startswith("curve") or view.is_passing_checkpoint(name):
            continue
        base = float(dataset["baseline"])
        lines = []
        for index, order in enumerate(map(str, dataset["order"].values)):
            line = dataset.isel(order=index)
            lines.append(
                {
                    "order": order,
                    "score": numbers(line["score"]),
                    "low": numbers(base + line["low"].values),
                    "high": numbers(base + line["high"].values),
                    "p": numbers(line["p"]),
                }
            )
        attributes = dataset.attrs
        curves.append(
            {
                "name": name,
                "metric": attributes["metric"],
                "task": attributes["task"],
                "baseline": number(base, 6),
                "heads": int(attributes["heads"]),
                "examples": int(attributes["examples"]),
                "removed": [int(count) for count in dataset["removed"].values],
                "lines": lines,
                "said": titles_of(dataset),
                "published": find_published(str(attributes["task"]), str(attributes["metric"])),
            }
        )
    return curves


def find_dynamics(view: View) -> dict[str, Any] | None:
    """For each checkpoint, its pruning curve, and how far its order of heads agrees with the last.

    What was measured during a training has no curves, but the agreement of two halves of the examples.
    """
    dataset = view.of("pruning").get("dynamics")
    if dataset is None:
        return None
    curves: dict[str, Any] = (
        {"score": None, "stability": numbers(dataset["stability"])}
        if "stability" in dataset
        else {
            "removed": [int(count) for count in dataset["removed"].values],
            "metric": dataset.attrs["metric"],
            "baseline": numbers(dataset["baseline"]),
            "score": [numbers(row) for row in dataset["score"].transpose("checkpoint", "removed").values],
            "stability": None,
        }
    )
    return {
        "said": titles_of(dataset),
        "gates": dataset.attrs.get("what") == "gates",
        "checkpoints": [int(step) for step in dataset["checkpoint"].values],
        "heads": int(dataset.attrs["heads"]),
        **curves,
        "agreement": numbers(dataset["agreement"]),
        "settled": SETTLED,
        "low": numbers(dataset["agreement_low"]),
        "high": numbers(dataset["agreement_high"]),
    }


def find_embedding(view: View) -> dict[str, Any] | None:
    """Heads as points in the plane, close to each other if their maps are similar."""
    dataset = view.of("measures").get("distances")
    if dataset is None:
        return None
    named = {"within": "within_layers", "between": "between_layers", "p": "p"}
    facts = [
        {"stack": str(stack), **{key: number(float(dataset[name].values[index])) for key, name in named.items()}}
        for index, stack in enumerate(dataset["stack"].values)
    ]
    return {"x": view.by_head(dataset["x"]), "y": view.by_head(dataset["y"]), "facts": facts}


def find_costs(view: View) -> list[dict[str, Any]]:
    """Costs of models, such as before and after pruning."""
    results = []
    for name, dataset in view.of("cost").items():
        if "ms" not in dataset:  # times of layers
            continue
        rows = [
            {
                "model": str(dataset["model"].values[row]),
                "batch": int(dataset["batch"].values[row]),
                "length": int(dataset["length"].values[row]),
                **{key: number(float(dataset[key].values[row]), 6) for key in COSTS},
            }
            for row in range(dataset.sizes["row"])
        ]
        results.append(
            {"name": name, "said": titles_of(dataset), "rows": rows, "device": dataset.attrs.get("device", "")}
        )
    return results


def find_offsets(view: View) -> dict[str, Any] | None:
    """The mean attention of each head at each offset."""
    dataset = view.of("measures").get("position")
    if dataset is None or "attention" not in dataset:
        return None
    offsets = [int(offset) for offset in dataset["offset"].values]
    columns: list[list[float | None]] = [view.by_head(dataset["attention"].sel(offset=offset)) for offset in offsets]
    return {"offsets": offsets, "values": [list(row) for row in zip(*columns, strict=True)]}


def find_relations(view: View) -> list[dict[str, Any]]:
    """Relations between words: attention along each, and the control at the same offsets."""
    relations = []
    for name, dataset in view.of("measures").items():
        if not name.startswith("links"):
            continue
        for index, link in enumerate(map(str, dataset["link"].values)):
            relation: xr.Dataset = dataset.isel(link=index)
            relations.append(
                {
                    "name": link,
                    "result": name,
                    **{key: view.by_head(relation[key]) for key in ("attention", "control", "gain_low", "gain_high")},
                }
            )
    return relations
