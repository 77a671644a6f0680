"""Which heads matter at which positions: a patch of each head at each position, over all pairs and for some of them."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.schema import Schema, read_schema
from headcount.core.sweep_schemas import inputs_of
from headcount.reporting.examples import truncate
from headcount.reporting.view import View, number
from headcount.story.patches import falls_with_it

CELLS = 40_000
"""Heads times positions that a page holds at most: of more, the heads that matter most at any position."""
NUMBERS, EXAMPLES = 80_000, 8
"""Numbers of single examples that a page holds at most, and examples."""

Spans = list[tuple[int, int]]
"""Where some characters begin and end."""


def find_positions(view: View) -> list[dict[str, Any]]:
    """For each sweep by position: values, low, high, q [head][position] of `heads`, and examples."""
    return [
        _map(view, f"sweep/{name}", result)
        for name, result in view.of("sweep").items()
        if result.attrs.get("by") == "position"
    ]


def _map(view: View, name: str, result: xr.Dataset) -> dict[str, Any]:
    variable, ends = ("share", "share_") if "share" in result else ("delta", "")
    schema = read_schema(result[variable]) or Schema(variable)
    ran, given = inputs_of(result.attrs["direction"])
    centre = schema.centre or 0
    values = _by_head(view, result[variable])
    heads = _kept(values, centre)
    columns = {"low": f"{ends}low", "high": f"{ends}high", "q": "q"}
    return {
        "id": name,
        "title": schema.title,
        "unit": schema.unit,
        "says": schema.direction,
        "patched": {"ran": ran, "given": given},
        **({} if schema.centre is None else {"centre": schema.centre}),
        "higher": ran == "clean" if variable == "share" else falls_with_it(result),
        "positions": [str(position) for position in result["position"].values],
        "heads": heads,
        "of": sum(any(value is not None for value in row) for row in values),
        "values": [values[head] for head in heads],
        **{key: [_by_head(view, result[column])[head] for head in heads] for key, column in columns.items()},
        "examples": _examples(view, result, heads),
    }


def _by_head(view: View, values: xr.DataArray) -> list[list[float | None]]:
    """[head][position]"""
    columns = [view.by_head(values.isel(position=at)) for at in range(values.sizes["position"])]
    return [list(row) for row in zip(*columns, strict=True)]


def _kept(values: list[list[float | None]], centre: float) -> list[int]:
    """The heads that have values, in their own order; of too many, those that are furthest from the centre."""
    most = {
        head: max(abs(value - centre) for value in row if value is not None)
        for head, row in enumerate(values)
        if any(value is not None for value in row)
    }
    room = max(1, CELLS // max(1, len(values[0])))
    return sorted(sorted(most, key=lambda head: -most[head])[:room])


def _examples(view: View, result: xr.Dataset, heads: list[int]) -> list[dict[str, Any]]:
    """Texts of both inputs, the scores of both, and what each head changes at each position."""
    if "text" not in result or "counterpart" not in result:
        return []
    found = _scores(result)
    if found is None:
        return []
    title, ran, patched, given = found
    count = min(EXAMPLES, len(ran), NUMBERS // max(1, len(heads) * result.sizes["position"]))
    change = patched - ran
    examples = []
    for at in range(count):
        clean, corrupted = (truncate(result[name].values[at]) for name in ("text", "counterpart"))
        marks = differing_words(clean, corrupted)
        scores = (given, ran) if result.attrs["direction"] == "denoise" else (ran, given)
        changed = xr.DataArray(change[..., at], result["score"].coords, result["score"].dims)
        rows = _by_head(view, changed)
        examples.append(
            {
                "title": title,
                "clean": {"text": clean, "marks": marks[0], "score": number(float(scores[0][at]))},
                "corrupted": {"text": corrupted, "marks": marks[1], "score": number(float(scores[1][at]))},
                "falls": bool(given[at] < ran[at]),
                "values": [[None if value is None else number(value, 3) for value in rows[head]] for head in heads],
            }
        )
    return examples


def _scores(result: xr.Dataset) -> tuple[str, np.ndarray, np.ndarray, np.ndarray] | None:
    """A score of each example, if one is stored: on the input that is run [example], with each head at each position
    [stack, layer, head, position, example] and on the input that gives [example]."""
    sides = ("baseline_", "", "given_")
    if result.attrs["metric"] == "logit_difference" and "logit_difference" in result:
        ran, patched, given = (result[f"{side}logit_difference"].values for side in sides)
        return "logit difference", ran, patched, given
    if "loss" in result:
        ran, patched, given = (-result[f"{side}loss"].values for side in sides)
        return "log-probability", ran, patched, given
    if "logits" in result and "label" in result and result["label"].dtype.kind in "iu" and result.sizes["class"] > 1:
        labels = result["label"].values
        ran, patched, given = (_log_probability(result[f"{side}logits"].values, labels) for side in sides)
        return "log-probability", ran, patched, given
    return None


def _log_probability(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """[..., example] from [..., example, class]"""
    logits = logits.astype(float)
    whole = np.logaddexp.reduce(logits, axis=-1)
    return np.asarray(logits[..., np.arange(len(labels)), labels] - whole)


def differing_words(first: str, second: str) -> tuple[Spans, Spans]:
    """Where the words of two texts differ, as characters of each.

    >>> differing_words("Sam sent it", "Ann sent it")
    ([(0, 3)], [(0, 3)])
    """
    words = [list(re.finditer(r"\w+|[^\w\s]", text)) for text in (first, second)]
    written, rewritten = ([word.group() for word in side] for side in words)
    matched = SequenceMatcher(None, written, rewritten, autojunk=False)
    spans: tuple[Spans, Spans] = ([], [])
    for what, start, end, other_start, other_end in matched.get_opcodes():
        if what != "equal":
            for side, at in enumerate((slice(start, end), slice(other_start, other_end))):
                spans[side].extend(word.span() for word in words[side][at])
    return spans
