"""Budgets for the page and the figure: score, size and measured speed of each step, and what is left of each layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.core.budget_schemas import HALVES
from headcount.core.results import ENDS
from headcount.reporting.series import numbers, titles_of
from headcount.reporting.view import View, number

PER_STEP = ("operations", "weights", "speed", "speed_low", "speed_high", "score", "p")
KINDS = ("heads", "units")


def budget_halves(view: View) -> dict[str, tuple[xr.Dataset, xr.Dataset]]:
    """By name, the curves of the half that selected and of the held-out half, where both are complete."""
    results = view.of("pruning")
    first, second = (f"-{half}" for half in HALVES)
    found = {}
    for name, choosing in results.items():
        confirming = results.get(name.removesuffix(first) + second)
        if name.startswith("budget@") and name.endswith(first) and confirming is not None:
            found[name.removesuffix(first).removeprefix("budget@")] = (choosing, confirming)
    return found


def find_budgets(view: View) -> list[dict[str, Any]]:
    """Each budget as the held-out half has it, with the step that the other half selected."""
    return [_describe(name, *halves) for name, halves in budget_halves(view).items()]


def _describe(name: str, choosing: xr.Dataset, held_out: xr.Dataset) -> dict[str, Any]:
    attributes, base = held_out.attrs, float(held_out["baseline"])
    chosen = choosing.attrs.get("chosen")
    # Layers without heads and without units fill the arrays of shallower stacks.
    there = np.isfinite(held_out["heads_whole"].values) | np.isfinite(held_out["units_whole"].values)
    blocks = [
        {
            "stack": str(held_out["stack"].values[stack]),
            "layer": int(held_out["layer"].values[layer]),
            **{kind: _count(held_out[f"{kind}_whole"].values[stack, layer]) for kind in KINDS},
        }
        for stack, layer in np.argwhere(there)
    ]
    lines = []
    for index, order in enumerate(map(str, held_out["order"].values)):
        line = held_out.isel(order=index)
        left = {kind: line[f"{kind}_left"].transpose("step", "stack", "layer").values[:, there] for kind in KINDS}
        lines.append(
            {
                "order": order,
                **{key: numbers(line[key]) for key in PER_STEP},
                **{key: numbers(base + line[key].values) for key in ("low", "high")},
                **{kind: [[_count(one) for one in row] for row in values] for kind, values in left.items()},
            }
        )
    return {
        "name": name,
        "what": str(attributes["what"]),
        "budget": str(attributes["budget"]),
        "currency": str(attributes.get("currency", "operations")),
        "metric": str(attributes["metric"]),
        "task": str(attributes["task"]),
        "examples": int(attributes["examples"]),
        "selectedOn": int(choosing.attrs["examples"]),
        "refit": bool(attributes.get("refit")),
        "batch": int(attributes["batch"]),
        "length": int(attributes["length"]),
        "baseline": [number(float(held_out[f"baseline{end}"]), 6) for end in ENDS],
        "steps": numbers(held_out["step"]),
        "chosen": None if chosen is None else int(chosen),
        "lines": lines,
        "blocks": blocks,
        "said": titles_of(held_out),
    }


def _count(value: float) -> int | None:
    """A number of heads or units, None where there is no such block; counts are not rounded."""
    return int(value) if np.isfinite(value) else None
