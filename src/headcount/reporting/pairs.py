"""Pairs of heads on the page: their interactions, in the metric and in the loss, and what each head does alone."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headcount.core.schema import read_schema
from headcount.reporting.view import View, number
from headcount.story.pairs import pair_kinds
from headcount.story.sweeps import REPLACED

MOST = 2000
"""Pairs that a page holds at most, those with the largest interactions."""
PARTS = ("interaction", "low", "high", "q", "joint", "first_effect", "second_effect")


def find_pairs(view: View) -> list[dict[str, Any]]:
    """For each sweep over pairs: rows [first, second, kind, *PARTS], heads by their number on the page."""
    found = []
    for name, result in view.of("sweep").items():
        if result.attrs.get("by") != "pair":
            continue
        numbers = {view.layout.spell(head): at for at, head in enumerate(view.layout)}
        schema = read_schema(result["single"])
        how = str(result.attrs["how"])
        found.append(
            {
                "id": f"sweep/{name}",
                "how": REPLACED.get(how, how),
                "of": int(result.attrs["pairs"]["run"]),
                "alone": {
                    "title": "" if schema is None else schema.title,
                    "unit": str(result.attrs["metric"]),
                    "higher": bool(result.attrs.get("higher_is_better", True)),
                    "values": view.by_head(result["single"]),
                    "low": view.by_head(result["single_low"]),
                    "high": view.by_head(result["single_high"]),
                    "q": view.by_head(result["single_q"]),
                },
                "tables": [
                    _table(result, numbers, title, prefix)
                    for title, prefix in ((str(result.attrs["metric"]), ""), ("the loss", "loss_"))
                    if f"{prefix}interaction" in result
                ],
            }
        )
    return found


def _table(result: xr.Dataset, numbers: dict[str, int], title: str, prefix: str) -> dict[str, Any]:
    kinds = pair_kinds(result, prefix)
    columns = [result[f"{prefix}{part}"].values for part in PARTS]
    names = zip(result["first"].values, result["second"].values, strict=True)
    rows = [
        [numbers[str(first)], numbers[str(second)], int(kinds[at]), *(number(float(column[at])) for column in columns)]
        for at, (first, second) in enumerate(names)
    ]
    rows.sort(key=lambda row: -abs(row[3] or 0))
    return {"title": title, "rows": rows[:MOST]}
