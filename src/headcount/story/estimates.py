"""An estimate beside what it estimates, in sentences: how well the two agree, and for which heads it failed."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL
from headcount.story.names import interval_of, spell_head, spell_interval

MOST = 3
"""Heads that a sentence names."""
WHY = {"too small": "a saturated head"}
"""What is known to make an estimate fail in this way."""


def estimate_sentences(result: xr.Dataset) -> list[str]:
    """How well attribution predicts exact patching on the heads that were run; nothing without attribution."""
    if "estimate_correlation" not in result:
        return []
    count = int(np.isfinite(result["estimated"].values).sum())
    whole, control = (interval_of(result, name) for name in ("estimate_correlation", "control_correlation"))
    agreement = (
        f"Rank correlation of attribution and exact patching: {_spell(whole)} over the {count} heads that were run"
    )
    if np.isfinite(control[0]):
        agreement += f", {_spell(control)} over the {result.attrs['screen']['control']} of the control"
    return [f"{agreement} (95 % intervals over heads).", *_failures(result, count)]


def _spell(correlation: tuple[float, float, float]) -> str:
    return spell_interval(correlation, 2) if np.isfinite(correlation[0]) else "unknown (too few heads)"


def _failures(result: xr.Dataset, count: int) -> list[str]:
    if "estimate_failed" not in result:
        return ["Attribution was computed on other examples, so that it is not known for which heads it fails."]
    failed, names = result["estimate_failed"].values, result["estimate_failed"].attrs["names"]
    test = f"by more than half (q < {LEVEL})"
    places = np.argwhere(failed > 0)
    if not len(places):
        return [f"Attribution is off {test} for none of them."]
    errors = np.abs(result["estimate_error"].values[tuple(places.T)])
    worst = [tuple(place) for place in places[np.argsort(-errors, kind="stable")][:MOST]]
    kinds = [f"{number} {name}" for code, name in enumerate(names) if code and (number := int((failed == code).sum()))]
    listed = "; ".join(_head(result, place, names) for place in worst)
    which = "all of them" if len(places) <= MOST else "most"
    return [f"Attribution is off {test} for {len(places)} of the {count} ({', '.join(kinds)}); {which}: {listed}."]


def _head(result: xr.Dataset, place: tuple[int, ...], names: list[str]) -> str:
    name = spell_head(result, place, result.sizes["stack"] > 1)
    estimated, exact = (float(result[variable].values[place]) for variable in ("estimated", "delta"))
    kind = names[int(result["estimate_failed"].values[place])]
    why = f", {WHY[kind]}" if kind in WHY else ""
    return f"{name} {estimated:+.3f} instead of {exact:+.3f}{why}"
