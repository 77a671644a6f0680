"""Statistical cues, for the page and the figure: the strongest with their intervals, and a model beside them."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headcount.core.claims import significant
from headcount.core.results import ENDS
from headcount.core.schema import Schema, read_schema
from headcount.reporting.view import View, number
from headcount.story.cues import cue_heading, has_cues
from headcount.story.names import short_name

SHOWN = 40
"""Cues on the page."""
DRAWN = 20
"""Cues in the figure."""
SELECTED = "Productivity and coverage as in Niven and Kao (2019); intervals are of single cues, q is corrected for all."
COLUMNS = ("productivity", "chance", "coverage", "alone", "applicability", "q")


def find_cue_tables(view: View) -> list[dict[str, Any]]:
    """For each result with cues: what was counted, the strongest cues, and a model's accuracy by part."""
    return [_describe(name, result) for name, result in view.of("cues").items() if has_cues(result)]


def _describe(name: str, result: xr.Dataset) -> dict[str, Any]:
    several = "" if "@" not in name else f", {name.split('@', 1)[1]}"
    return {
        "name": name,
        "title": f"Strongest cues{several}",
        "heading": cue_heading(result),
        "selected": SELECTED,
        "said": {column: _said(result, column) for column in COLUMNS if column in result},
        "tested": int(result["tested"]),
        "labelled": "label_of_cue" in result,
        "rows": [_row(result.isel(cue=at)) for at in range(min(SHOWN, result.sizes["cue"]))],
        "model": short_name(str(result.attrs.get("model", "the model"))),
        "parts": _parts(result) if "model_accuracy" in result else [],
    }


def _row(row: xr.Dataset) -> dict[str, Any]:
    return {
        "cue": str(row["cue"].values),
        "label": str(row["label_of_cue"].values) if "label_of_cue" in row else None,
        "applicability": int(row["applicability"]),
        "productivity": _triple(row, "productivity"),
        "coverage": _triple(row, "coverage"),
        "chance": number(float(row["chance"])),
        "alone": number(float(row["alone"])),
        "q": number(float(row["q"])),
        "significant": bool(significant(row["q"].values)),
    }


def _parts(result: xr.Dataset) -> list[dict[str, Any]]:
    return [
        {
            "part": str(part.values),
            "examples": int(result["part_examples"].sel(part=part)),
            "accuracy": _triple(result.sel(part=part), "model_accuracy"),
        }
        for part in result["part"]
    ]


def _triple(row: xr.Dataset, name: str) -> list[float | None]:
    return [number(float(row[f"{name}{end}"])) for end in ENDS]


def _said(result: xr.Dataset, name: str) -> dict[str, str]:
    schema = read_schema(result[name]) or Schema(name.capitalize())
    return {"title": schema.title, "unit": schema.unit}


def as_relations(told: dict[str, Any]) -> dict[str, Any]:
    """The cues as the figure of relations takes them: a dot for the productivity, a tick for chance."""
    rows = [
        {
            "relation": row["cue"] if row["label"] is None else f"{row['cue']}: {row['label']}",
            "spelled": f"{row['applicability']:,}",
            "direction": None,
            "accuracy": row["productivity"],
            "baselines": [[row["chance"], None, None]],
        }
        for row in told["rows"][:DRAWN]
    ]
    words = told["said"]["productivity"]
    return {
        "rows": rows,
        "baselines": [{"title": told["said"]["chance"]["title"]}],
        "accuracy": {"title": words["title"], "unit": "share of the examples with the cue; on the right, their number"},
        "directions": [],
    }
