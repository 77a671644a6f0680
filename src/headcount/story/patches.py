"""Patching in sentences: what both inputs score, and which heads carry the difference."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.core.sweep_schemas import PARTS, inputs_of, spell_place
from headcount.story.names import interval_of, short_name, spell_interval

WHAT = {"layer": "layer", "sets": "set", "draws": "set", "position": "head and position"}


def is_patched(result: xr.Dataset) -> bool:
    """Whether a sweep has put heads of one input into another, so that nothing is without a head."""
    return str(result.attrs.get("how")) == "patch"


def falls_with_it(result: xr.Dataset) -> bool:
    """Whether a head that carries the difference lowers the score, and does not raise it."""
    return bool((float(result["difference"]) > 0) == (result.attrs["direction"] == "noise"))


def patch_heading(name: str, result: xr.Dataset) -> str:
    """What the sentences of a patch are about."""
    model, task = short_name(result.attrs["model"]), result.attrs["task"]
    return f"{model} on {task}, with one {_what(result)} at a time from the other input ({name}):"


def patch_sentences(result: xr.Dataset) -> list[str]:
    """The findings of a patch."""
    metric, denoise = result.attrs["metric"], result.attrs["direction"] == "denoise"
    clean, corrupted, difference = (
        spell_interval(interval_of(result, name), 3) for name in ("clean", "corrupted", "difference")
    )
    ran, given = inputs_of(result.attrs["direction"])
    part = PARTS.get(result.attrs["part"], result.attrs["part"])
    runs = f"Each {_what(result)} in turn runs on the {ran} input with its {part} from the {given} one{_where(result)}"
    sentences = [
        f"On the clean input {metric} is {clean}, on the corrupted one {corrupted} ({result.sizes['example']} pairs).",
        f"{runs}: {_counted(result)}.",
    ]
    if "share" not in result:
        return [
            *sentences,
            f"Shares are left out: the difference between the two inputs, {difference}, is too uncertain for a ratio.",
        ]
    return [*sentences, _best(result, denoise)]


def _counted(result: xr.Dataset) -> str:
    """How many heads have an effect, and in which direction."""
    q, delta = result["q"].values, result["delta"].values
    toward = -1 if falls_with_it(result) else 1
    effective, tested = significant(q), int(np.isfinite(q).sum())
    _, given = inputs_of(result.attrs["direction"])
    closer = int((effective & (delta * toward > 0)).sum())
    away = int(effective.sum()) - closer
    test = f"(q < {LEVEL}, {tested} tested)"
    if not effective.any():
        return f"none changes the score significantly {test}"
    bring = "brings" if closer == 1 else "bring"
    return f"{closer} {bring} the score closer to that of the {given} input, {away} further away {test}"


def _best(result: xr.Dataset, denoise: bool) -> str:
    """The head that brings most, on the pairs that selected it and on held-out ones."""
    whole = abs(float(result["difference"]))
    naive, honest = (float(result[name]) / whole for name in ("naive_gain", "honest_gain"))
    verb = "brings back" if denoise else "takes away"
    return (
        f"{result['best'].values} {verb} most of the difference: a share of {naive:.2f} on the pairs that selected it; "
        f"selected on one half and evaluated on the other, {honest:.2f} on average of the splits."
    )


def _what(result: xr.Dataset) -> str:
    return WHAT.get(result.attrs["by"], "head")


def _where(result: xr.Dataset) -> str:
    if result.attrs["by"] == "position":
        return ", at one position at a time"
    place = spell_place(result.attrs["positions"])
    return f", {place}" if place else ""
