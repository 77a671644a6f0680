"""Results of probing as a kind that does not exist yet would give them: no name in them is known to the page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.results import HEAD_DIMS
from headcount.core.schema import Schema, with_schemas
from headcount.reporting.view import View, find_layout

RELATIONS = ("all", "pronoun", "proper", "nominal")
ACCURACY = (0.5, 0.7, 0.6, 0.2)
BASELINES = {"nearest": (0.4, 0.3, 0.55, 0.3), "alphabet": (0.1, 0.2, 0.3, 0.1), "rules": (0.6, 0.6, 0.5, 0.4)}
"""The gain is above `nearest`, which is not the first by name."""
WIDE = 0.08
"""Half of every interval."""
HEADS = ("L0H1", "L1H0", "L1H1", "L0H0")
SCHEMAS = {
    "best_accuracy": Schema("Best head", "share of the mentions", range=(0, 1), shown=False),
    "gain": Schema("Best head above the nearest mention", "share of the mentions", signed=True, shown=False),
    "baseline_nearest": Schema("Nearest mention", "share of the mentions", shown=False),
    "baseline_rules": Schema("Rules", "share of the mentions", shown=False),
    "relation_gain": Schema(
        "Links mentions, above the nearest", "share", "above 0: more", signed=True, category="Links"
    ),
}
SENTENCES = {
    "pronoun": [(["Ann", "said", "she", "slept"], [[2, 0, 0]]), (["Bo", "saw", "Cy", "near", "him"], [[4, 2, 0]])],
    "nominal": [(["a", "dog", "ran"], [[1, 1, 0], [2, -1, 1]])],
}


def coreference(relations: tuple[str, ...] = RELATIONS, **attributes: Any) -> xr.Dataset:
    """Two layers of two heads: L0H1 follows the second relation, L1H0 the third, L1H1 none; L0H0 was not looked at."""
    accuracy = np.array(ACCURACY)
    arrays: dict[str, Any] = {
        "best_head": (("relation",), np.array(HEADS, dtype=object)),
        "best_direction": (("relation",), np.array(["to", "to", "from", "to"], dtype=object)),
        "held_out_cases": (("relation",), np.array([1200, 40, 30, 20])),
        **_with_ends("best_accuracy", ("relation",), accuracy),
        **_with_ends("gain", ("relation",), accuracy - BASELINES["nearest"]),
    }
    for name, values in BASELINES.items():
        arrays |= _with_ends(f"baseline_{name}", ("relation",), np.array(values))
    gain = np.array([[[np.nan, 0.4], [0.3, 0.05]]])
    arrays |= _with_ends("relation_gain", HEAD_DIMS, gain)
    arrays["relation_of_head"] = (HEAD_DIMS, np.array([[[np.nan, 1], [2, 3]]]))
    coords = {"stack": ["encoder"], "layer": [0, 1], "head": [0, 1], "direction": ["to", "from"]}
    said = {"model": "m", "summary": "how often a mention attends to an antecedent", "paper": "Clark 2019, 4.3"}
    return xr.Dataset(with_schemas(arrays, SCHEMAS), coords | {"relation": list(relations)}, said | attributes)


def _with_ends(name: str, dims: tuple[str, ...], values: np.ndarray) -> dict[str, Any]:
    return {f"{name}{end}": (dims, values + by) for end, by in (("", 0.0), ("_low", -WIDE), ("_high", WIDE))}


def arcs(relations: tuple[str, ...] = RELATIONS, sentences: Any = None) -> xr.Dataset:
    """Two sentences of a relation at most, as a study keeps them."""
    known = SENTENCES if sentences is None else sentences
    words = np.full((len(relations), 2), "", dtype=object)
    links = words.copy()
    for row, relation in enumerate(relations):
        for column, (spelled, arc) in enumerate(known.get(relation, [])):
            words[row, column], links[row, column] = json.dumps(spelled), json.dumps(arc)
    dims = ("relation", "shown")
    arrays = {"head": (("relation",), np.array(HEADS, dtype=object)), "words": (dims, words), "arcs": (dims, links)}
    return xr.Dataset(arrays, {"relation": list(relations)})


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def both() -> View:
    return view_of({"probe/coreference": coreference(), "arcs/coreference": arcs()})
