"""Notes on results: texts that were truncated, rows and measures that were left out, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr


def cut_note(attributes: Mapping[Any, Any]) -> list[str]:
    """How many texts were truncated, if any."""
    cut = attributes.get("cut")
    return [f"{cut} texts were longer than the model takes and were cut."] if cut else []


def blank_note(attributes: Mapping[Any, Any]) -> list[str]:
    """How many rows of the data were left out because they are blank, if any."""
    blank = attributes.get("blank_rows") or {}
    if not blank.get("count"):
        return []
    verbs = ("is", "was") if blank["count"] == 1 else ("are", "were")
    return [f"{blank['count']:,} of {blank['of']:,} rows of the data {verbs[0]} blank and {verbs[1]} left out."]


def measure_notes(measured: xr.DataTree) -> list[str]:
    """Sentences on truncated texts, on distances within and between layers, and on what was not measured."""
    lines = cut_note(measured.attrs)
    distances = measured.children.get("distances")
    if distances is not None:
        columns = [distances.to_dataset()[name].values for name in ("stack", "p", "within_layers", "between_layers")]
        lines += [
            f"Heads of one layer are {within:.3f} nats apart, heads of different layers {between:.3f} "
            f"({stack}, p = {p:.2g})."
            for stack, p, within, between in zip(*columns, strict=True)
            if np.isfinite(p)
        ]
    return [*lines, *(f"{name} was left out: {why}." for name, why in measured.attrs.get("left_out", {}).items())]
