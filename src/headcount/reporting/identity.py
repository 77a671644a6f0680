"""What a study is about, in one line, and the four numbers that sum it up."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headcount.core.sweep_schemas import OF_ANOTHER_INPUT
from headcount.reporting.findings import TOLERANCE
from headcount.reporting.view import View
from headcount.story.asks import ask
from headcount.story.key_numbers import (
    KeyNumber,
    baseline_number,
    cut_number,
    heads_number,
    significant_number,
)
from headcount.story.names import short_name


def scored_model(view: View) -> str:
    """The model that was scored; of checkpoints the last one."""
    models = [str(result.attrs["model"]) for result in view.results.values() if "model" in result.attrs]
    swept = [
        str(sweep.attrs["model"]) for sweep in view.of("sweep").values() if sweep.attrs.get("by") in ("head", "layer")
    ]
    model = next(iter(swept), models[-1] if models else "")
    return short_name(model) if model else ""


def find_identity(view: View) -> dict[str, Any]:
    """The shape of the model, its number of parameters if the study has it, what the task asks, and the date."""
    stacks = [layers for layers in view.layout.stacks.values() if any(layers)]
    shape = ""
    if len(stacks) == 1:
        counts = {len(heads) for heads in stacks[0]}
        shape = f"{len(stacks[0])} x {counts.pop()} heads" if len(counts) == 1 else f"{view.layout.count} heads"
    elif stacks:
        shape = f"{view.layout.count} heads"
    return {"shape": shape, "parameters": _parameters(view), "asks": ask(view.task), "date": view.date}


def find_shared_keys(view: View) -> dict[str, int]:
    """By stack, how many heads in a row read the same key and value, where it is more than one."""
    own = [result.attrs for result in view.results.values() if "heads_per_key" in result.attrs]
    return {str(stack): int(count) for stack, count in dict(own[0]["heads_per_key"]).items()} if own else {}


def model_before(view: View) -> str:
    """The model that the study's own is compared with: the one before fine-tuning."""
    for result in view.of("compare").values():
        names = {short_name(str(result.attrs[key])) for key in ("model", "other_model") if key in result.attrs}
        others = names - {scored_model(view)}
        if len(names) == 2 and len(others) == 1:
            return others.pop()
    return ""


def _parameters(view: View) -> int | None:
    """How many weights the scored model has, if its costs were measured."""
    fingerprints = {
        result.attrs["identity"]["model"]
        for result in view.results.values()
        if short_name(str(result.attrs.get("model", ""))) == scored_model(view)
        and "model" in dict(result.attrs.get("identity") or {})
    }
    for cost in view.of("cost").values():
        models = dict(dict(cost.attrs.get("identity") or {}).get("models") or {})
        for name, fingerprint in models.items():
            rows = [row for row, named in enumerate(cost["model"].values) if str(named) == str(name)]
            if fingerprint in fingerprints and rows and "parameters" in cost:
                return int(cost["parameters"].values[rows[0]])
    return None


def find_key_numbers(view: View) -> list[KeyNumber]:
    """Heads, baseline score, heads with a significant effect, and the held-out change at the chosen cut."""
    if not view.layout.count:
        return []
    curves = view.of("pruning")
    halves: tuple[xr.Dataset | None, xr.Dataset | None] = (None, None)
    for name, held_out in curves.items():
        selection = curves.get(f"{name.removesuffix('-confirming')}-choosing")
        # A result without bounds is that of an older study: a chart, but no claim.
        if name.endswith("-confirming") and name.startswith("curve") and selection is not None and _bounded(held_out):
            halves = (selection, held_out)
    sweeps = [
        sweep
        for sweep in view.of("sweep").values()
        if sweep.attrs.get("by") in ("head", "layer")
        and sweep.attrs.get("how") not in OF_ANOTHER_INPUT
        and "baseline" in sweep
        and "q" in sweep
    ]
    of_heads = next((sweep for sweep in sweeps if sweep.attrs["by"] == "head"), None)
    return [
        heads_number(view.layout),
        baseline_number(of_heads if of_heads is not None else next(iter(sweeps), None)),
        significant_number(of_heads),
        cut_number(*halves, points=TOLERANCE),
    ]


def _bounded(curve: xr.Dataset) -> bool:
    return "bound_low" in curve
