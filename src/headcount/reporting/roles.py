"""What does each head mostly do? One word for each, by a rule that anyone can check against the numbers."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.reporting.view import View

RULES: tuple[tuple[str, str, str, float], ...] = (
    ("previous token", "position", "previous", 0.5),
    ("next token", "position", "next", 0.5),
    ("itself", "position", "same", 0.5),
    ("[SEP]", "special", "sep", 0.5),
    ("[CLS]", "special", "cls", 0.5),
    ("punctuation", "special", "punctuation", 0.5),
    ("first token", "special", "first", 0.5),
    ("same word in the other text", "repeated", "gain", 0.15),
    ("rarest word", "rare", "gain", 0.15),
    ("everything alike", "entropy", "share_of_uniform", 0.9),
    ("other text", "sentences", "across", 0.5),
)
"""The role, the measure and variable that tell it, and the value from which on a head has it; the first one counts."""
MIXED = "mixed"


def find_roles(view: View) -> tuple[list[int | None], list[str]] | None:
    """For each head the number of its role, and the roles' names; None without the measures."""
    measures = {name: found for name, found in view.of("measures").items() if "@" not in name}
    if not measures:
        return None
    names = [role for role, measure, *_ in RULES if measure in measures]
    columns = [
        (role, _column(view, measures[measure], variable), least)
        for role, measure, variable, least in RULES
        if measure in measures
    ]
    roles: list[int | None] = []
    for place in range(view.layout.count):
        known = [(role, column[place], least) for role, column, least in columns if column[place] is not None]
        if not known:
            roles.append(None)
            continue
        hit = next((role for role, value, least in known if value is not None and value >= least), None)
        roles.append(len(names) if hit is None else names.index(hit))
    used = sorted({role for role in roles if role is not None})
    kinds = [(*names, MIXED)[role] for role in used]
    return [None if role is None else used.index(role) for role in roles], kinds


def _column(view: View, dataset: xr.Dataset, variable: str) -> list[float | None]:
    if variable not in dataset:
        return [None] * view.layout.count
    return view.by_head(dataset[variable].astype(np.float64))
