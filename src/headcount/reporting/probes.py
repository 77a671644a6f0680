"""Heads beside annotations, for the page and the figure: the best head of each relation, its baselines, sentences.

No kind of annotations, relation or baseline is known by name: all come from names such as `baseline_*`, and schemas.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import ENDS
from headcount.core.schema import Schema, read_schema
from headcount.reporting.view import View, number
from headcount.story.probes import SELECTED, has_relations

BASELINE = "baseline_"
Triple = list[float | None]
"""A value and its interval."""


def find_probes(view: View) -> list[dict[str, Any]]:
    """For each result with relations: its words, its baselines, and a row for each relation, the largest gain first."""
    heads = {view.layout.spell(head): index for index, head in enumerate(view.layout)}
    examples = view.of("arcs")
    return [
        _describe(name, probed, examples.get(name), heads)
        for name, probed in view.of("probe").items()
        if has_relations(probed)
    ]


def _describe(name: str, probed: xr.Dataset, examples: xr.Dataset | None, heads: dict[str, int]) -> dict[str, Any]:
    baselines = find_baselines(probed)
    gain = np.nan_to_num(probed["gain"].values.astype(float), nan=-np.inf)
    known = np.isfinite(probed["best_accuracy"].values)
    directions = [str(label) for label in probed["direction"].values] if "direction" in probed.coords else []
    accuracy = _schema(probed, "best_accuracy")
    return {
        "name": name,
        "title": f"Best heads: {name.replace('@', ', ')}",
        "summary": str(probed.attrs.get("summary", "")),
        "paper": str(probed.attrs.get("paper", "")),
        "selected": SELECTED,
        "accuracy": {"title": accuracy.title, "unit": accuracy.unit},
        "gain": {"title": _schema(probed, "gain").title},
        "directions": directions,
        "baselines": [{"title": _schema(probed, baseline).title} for baseline in baselines],
        "rows": [
            _row(probed, int(at), baselines, directions, heads, examples)
            for at in np.argsort(-gain, kind="stable")
            if known[at]
        ],
    }


def _row(
    probed: xr.Dataset,
    at: int,
    baselines: list[str],
    directions: list[str],
    heads: dict[str, int],
    examples: xr.Dataset | None,
) -> dict[str, Any]:
    relation, head = (str(probed[key].values[at]) for key in ("relation", "best_head"))
    direction = str(probed["best_direction"].values[at]) if "best_direction" in probed else ""
    return {
        "relation": relation,
        "head": heads.get(head),
        "spelled": head,
        "direction": directions.index(direction) if direction in directions else None,
        "cases": int(probed["held_out_cases"].values[at]) if "held_out_cases" in probed else None,
        "accuracy": _triple(probed, "best_accuracy", at),
        "gain": _triple(probed, "gain", at),
        "baselines": [_triple(probed, baseline, at) for baseline in baselines],
        "examples": [] if examples is None else _examples(examples, relation, head),
    }


def find_baselines(probed: xr.Dataset) -> list[str]:
    """The variables that a best head is compared with: the one that its gain is above, then the others by name."""
    named = sorted(
        str(name)
        for name, array in probed.data_vars.items()
        if str(name).startswith(BASELINE) and not str(name).endswith(ENDS[1:]) and array.dims == ("relation",)
    )
    compared = probed["best_accuracy"].values - probed["gain"].values

    known = np.isfinite(compared)

    def is_another(name: str) -> bool:
        return not np.allclose(probed[name].values[known], compared[known], atol=1e-6)

    return sorted(named, key=is_another)


def _schema(probed: xr.Dataset, name: str) -> Schema:
    """What a variable is called: by its schema, or else by its own name."""
    return read_schema(probed[name]) or Schema(name.removeprefix(BASELINE).replace("_", " ").capitalize())


def _triple(probed: xr.Dataset, name: str, at: int) -> Triple:
    return [number(float(probed[f"{name}{end}"].values[at])) if f"{name}{end}" in probed else None for end in ENDS]


def _examples(examples: xr.Dataset, relation: str, head: str) -> list[dict[str, Any]]:
    """The sentences of a relation: their words, and [word, predicted word, true word] for each of its arcs."""
    names = [str(name) for name in examples["relation"].values]
    if relation not in names or str(examples["head"].values[names.index(relation)]) != head:
        return []  # kept for another selection
    at = names.index(relation)
    pairs = zip(examples["words"].values[at], examples["arcs"].values[at], strict=True)
    return [{"words": json.loads(words), "arcs": json.loads(arcs)} for words, arcs in pairs if words and arcs]
