"""Patching in sentences: what both inputs score, and which heads carry the difference."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.story.names import interval_of, spell_interval

PARTS = {"weights": "attention map"}
"""What a part of a head is called, if not by its name."""
WHAT = {"layer": "layer", "sets": "set", "draws": "set", "position": "head and position"}


def patch_sentences(result: xr.Dataset) -> list[str]:
    """The findings of a patch."""
    metric, denoise = result.attrs["metric"], result.attrs["direction"] == "denoise"
    clean, corrupted, difference = (
        spell_interval(interval_of(result, name), 3) for name in ("clean", "corrupted", "difference")
    )
    ran, given = ("corrupted", "clean") if denoise else ("clean", "corrupted")
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
    toward = 1 if float(result["difference"]) * (1 if result.attrs["direction"] == "denoise" else -1) > 0 else -1
    effective, tested = significant(q), int(np.isfinite(q).sum())
    given = "clean" if result.attrs["direction"] == "denoise" else "corrupted"
    closer = int((effective & (delta * toward > 0)).sum())
    away = int(effective.sum()) - closer
    test = f"(q < {LEVEL}, {tested} tested)"
    if not effective.any():
        return f"none changes the score significantly {test}"
    return f"{closer} bring the score closer to that of the {given} input, {away} further away {test}"


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
    positions = result.attrs["positions"]
    named = {"all": "", "last": ", at the last token of the prompt", "answer": ", where the answer is predicted"}
    return named.get(positions, f", at {positions!r}")
