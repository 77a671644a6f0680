"""Notes on results: texts that were truncated, rows and measures that were left out, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.probe_names import TOKENIZER_LOST, causal_stacks


def cut_note(attributes: Mapping[Any, Any]) -> list[str]:
    """How many texts were truncated, if any."""
    cut = attributes.get("cut")
    return [f"{cut} texts were longer than the model takes and were cut."] if cut else []


def source_note(attributes: Mapping[Any, Any]) -> list[str]:
    """What the source of the data left out, and how its labels were read.

    >>> source_note({"notes": ["one word is left out"]})
    ['Note: one word is left out.']
    """
    return [f"Note: {note}." for note in attributes.get("notes", ())]


def left_out_note(count: int, what: str, why: str) -> list[str]:
    """What was left out and why, if anything was.

    >>> left_out_note(1, "word", "without a token"), left_out_note(2000, "word", "without a token")
    (['1 word is left out: without a token.'], ['2,000 words are left out: without a token.'])
    """
    if not count:
        return []
    return [f"{count:,} {what}{'s are' if count > 1 else ' is'} left out: {why}."]


def causal_note(probed: xr.Dataset, consequence: str) -> list[str]:
    """What follows from a causal mask, if the model that was probed has one."""
    if "stack" not in probed.coords or not causal_stacks([str(name) for name in probed["stack"].values]):
        return []
    return [f"This model's words see only those before them: {consequence}."]


def probe_notes(attributes: Mapping[Any, Any]) -> list[str]:
    """The words that the tokenizer lost, texts that were truncated, and blank rows."""
    lost = attributes.get("lost", {})
    words = [note for reason in TOKENIZER_LOST for note in left_out_note(lost.get(reason, 0), "word", reason)]
    return [*words, *cut_note(attributes), *blank_note(attributes)]


def blank_note(attributes: Mapping[Any, Any]) -> list[str]:
    """How many rows of the data were left out because they are blank, if any."""
    blank = attributes.get("blank_rows") or {}
    if not blank.get("count"):
        return []
    verbs = ("is", "was") if blank["count"] == 1 else ("are", "were")
    return [f"{blank['count']:,} of {blank['of']:,} rows of the data {verbs[0]} blank and {verbs[1]} left out."]


def measure_notes(measured: xr.DataTree) -> list[str]:
    """Sentences on truncated texts, on distances within and between layers, and on what was not measured."""
    lines = [*source_note(measured.attrs), *cut_note(measured.attrs)]
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
