"""How much one head matters: importance, roles by gates, and whether the orders of heads to remove take it."""

from __future__ import annotations

import re

import numpy as np
import xarray as xr

from headcount.core.claims import choose_cut, judge_cut, judge_step
from headcount.core.heads import Head, Layout
from headcount.errors import UnknownHead
from headcount.story.cuts import spell_points
from headcount.story.earlier import schemas_of
from headcount.story.gate_roles import SCORES
from headcount.story.one_head.fact import (
    Fact,
    as_numbers,
    estimate_at,
    head_values,
    known,
    spell_standing,
    spell_value,
    standing,
    value_at,
)

VERDICTS = {
    "confirmed": "held-out examples confirm it",
    "refuted": "held-out examples refute it",
    "too few examples to tell": "too few held-out examples to confirm it",
}


def importance_facts(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """The head's rank by importance, and the expected rise of the loss without it."""
    facts = []
    for variable, schema in schemas_of(f"pruning/{name}", result).items():
        if not schema.shown or not (schema.main or schema.signed):
            continue
        estimate = estimate_at(result, variable, head)
        if not known(estimate[0]):
            continue
        values = head_values(result[variable])
        first, last, count = standing(estimate[0], values)
        facts.append(
            Fact(
                f"{schema.title} ({schema.unit}): {spell_value(estimate, schema.signed)}, "
                f"{spell_standing(estimate[0], values)}.",
                f"pruning/{name}",
                as_numbers(estimate, rank=first, last_rank=last, heads=count),
            )
        )
    return facts


def gate_facts(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """The role of the head by gates, and what held-out examples say of all heads with that role."""
    code = value_at(result["role"], head)
    if not known(code):
        return []
    names = [str(each) for each in result["role"].attrs["names"]]
    role, seeds = names[int(code)], int(result.attrs["seeds"])
    scores = {score: value_at(result[score], head) for score in SCORES}
    listed = ", ".join(f"{score} {value:.2f}" for score, value in scores.items())
    together = ""
    checked = [str(each) for each in result["checked"].values]
    if role in checked:
        row = result.isel(checked=checked.index(role))
        size = int(row["checked_size"])
        if size:
            verdict = VERDICTS.get(str(row["verdict"].item()), str(row["verdict"].item()))
            together = f"; of the {size:,} {role} heads together, {verdict}"
    sentence = f"By gates ({seeds} seed{'s' if seeds > 1 else ''}) it is {role}: {listed}{together}."
    return [Fact(sentence, f"pruning/{name}", {"role": role, **scores})]


def curve_facts(
    name: str, held_out: xr.Dataset, selection: xr.Dataset | None, spelled: tuple[str, str], points: float
) -> list[Fact]:
    """When an order removes the head, and whether the cut that was selected does; `spelled`: its names in studies."""
    order = str(held_out["order"].values[0])
    sequence = [str(each) for each in held_out["sequence"].sel(order=order).values if str(each)]
    ranks = [number for number, each in enumerate(sequence, start=1) if each in spelled]
    if not ranks:
        return []
    rank = ranks[0]
    said = f"In the order of {order} it is removed as number {rank} of {len(sequence)}"
    numbers: dict[str, float | str | None] = {"number": rank, "of": len(sequence), "order": order}
    if selection is None or "bound_low" not in selection or "bound_low" not in held_out:
        return [Fact(f"{said}.", f"pruning/{name}", numbers)]
    cut = choose_cut(selection, order, points)
    count = cut.count or cut.by_estimate
    within = f"within {spell_points(points, str(held_out.attrs['metric']))} of {held_out.attrs['metric']}"
    if not count:
        return [Fact(f"{said}; no cut stays {within}, so that none would remove it.", f"pruning/{name}", numbers)]
    largest = f"The largest cut that is shown to stay {within}"
    if not cut.count:
        largest = f"No cut is shown to stay {within}: the largest whose point estimate does"
    verdict = VERDICTS[judge_cut(held_out, order, count, points)]
    heads = f"{count} head{'s' if count > 1 else ''}"
    takes = "this one among them" if rank <= count else "not this one"
    sentence = f"{said}. {largest} removes {heads}, {takes}; {verdict}."
    return [Fact(sentence, f"pruning/{name}", numbers | {"cut": count, "removed": str(rank <= count).lower()})]


def budget_facts(name: str, held_out: xr.Dataset, head: Head, layout: Layout) -> list[Fact]:
    """Whether the smaller model that a budget has chosen keeps the head."""
    chosen = held_out.attrs.get("chosen")
    if chosen is None or "parts" not in held_out:
        return []
    removed = str(held_out["parts"].values[0][int(chosen)])
    names = [word for word in re.split(r"[,\s]+", removed) if word and "U" not in word]
    try:
        gone = {each for word in names for each in layout.find(word)}
    except UnknownHead:  # a head that no result has a number for
        return []
    order, budget = str(held_out["order"].values[0]), held_out.attrs.get("budget", "")
    takes = "removes it" if head in gone else "keeps it"
    tolerance = held_out.attrs.get("tolerance")
    verdict = ""
    if tolerance is not None and np.isfinite(held_out["bound_low"].sel(order=order).values[int(chosen)]):
        verdict = f"; {VERDICTS[judge_step(held_out, order, int(chosen), float(tolerance))]}"
    sentence = f"The model chosen for the budget {budget} ({len(gone)} heads removed) {takes}{verdict}."
    return [Fact(sentence, f"pruning/{name}", {"removed": str(head in gone).lower(), "heads": len(gone)})]
