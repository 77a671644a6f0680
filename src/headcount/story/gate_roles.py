"""Roles of heads by gates, in rows and sentences: how many of each, and what held-out examples say about them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import HURTS_FROM, ROLES, Verdict, tolerance_of
from headcount.story.names import interval_of, short_name, spell_head, spell_interval
from headcount.story.notes import blank_note, cut_note

SCORES = ("facilitation", "interference", "irrelevance")
COLUMNS = ("head", "role", *SCORES, "spread")
RANDOM_HEAD = ("a random head of the same layer", "this one")
UNSURE: Verdict = "too few examples to tell"
MOST, LEAST = 5, 0.1
"""Heads that are listed for a score at most, and from which score on."""


def role_rows(result: xr.Dataset, most: int = MOST) -> list[tuple[str, ...]]:
    """The heads with the highest facilitation, then those with the highest interference, in the order of COLUMNS."""
    names = result["role"].attrs["names"]
    rows: dict[str, tuple[str, ...]] = {}
    for score in SCORES[:2]:
        values = np.nan_to_num(result[score].values, nan=-1)
        for flat in np.argsort(-values.ravel(), kind="stable")[:most]:
            index = np.unravel_index(flat, values.shape)
            if values[index] < LEAST:
                break
            at = result.isel(dict(zip(("stack", "layer", "head"), map(int, index), strict=True)))
            head = spell_head(result, index, result.sizes["stack"] > 1)
            numbers = (f"{float(at[name]):.2f}" for name in (*SCORES, "seed_range"))
            rows[head] = (head, names[int(at["role"])], *numbers)
    return list(rows.values())


def role_sentences(result: xr.Dataset) -> list[str]:
    """How many heads have each role, and what happens without them on held-out examples."""
    return [
        _counts(result),
        *[line for role in result["checked"].values for line in _check(result.sel(checked=role), str(role))],
        *cut_note(result.attrs),
        *blank_note(result.attrs),
    ]


def _counts(result: xr.Dataset) -> str:
    attributes, roles = result.attrs, result["role"].values
    *known, unclear = result["role"].attrs["names"]
    counts = [f"{int((roles == number).sum()):,} {name}" for number, name in enumerate(known)]
    seeds, unsure = attributes["seeds"], int((roles == len(known)).sum())
    why = "no score is above one half" if seeds == 1 else f"the {seeds} seeds do not agree on a role"
    return (
        f"Gates fitted on {attributes['fitted_on']:,} examples find {', '.join(counts[:-1])} and {counts[-1]} heads "
        f"among the {attributes['heads']:,} of {short_name(str(attributes.get('model', 'the model')))}; "
        f"{f'{unsure:,} are {unclear}: {why}' if unsure else f'none is {unclear}'}."
    )


def _check(row: xr.Dataset, role: str) -> list[str]:
    """What held-out examples say about the heads of a role, and about random heads of the same layers."""
    size, examples = int(row["checked_size"]), row.attrs["examples"]
    if not size:
        return [f"No head is {role} in every seed: there is nothing to check on held-out examples."]
    change = interval_of(row, "change")
    subject = f"the {size:,} {role} heads" if size > 1 else f"the {role} head ({row['checked_heads'].item()})"
    unsure = " Not enough examples to tell." if row["verdict"].item() == UNSURE else ""
    return [
        (
            f"Without {subject}, the loss of {examples:,} held-out examples {_verdict(row, role)}: "
            f"{spell_interval(change, signed=True)}, from {float(row['baseline']):.3f}.{unsure}"
        ),
        _beside_random(row, size),
    ]


def _verdict(row: xr.Dataset, role: str) -> str:
    high = interval_of(row, "change")[2]
    verdict, allowed = row["verdict"].item(), tolerance_of(HURTS_FROM, "loss", 0.0)
    if role == ROLES[1]:
        if verdict == "confirmed":
            return "falls, as it should"
        return "does not fall, which refutes the role" if verdict == "refuted" else "is not shown to fall"
    if verdict == "confirmed":
        return "falls" if high < 0 else f"does not rise by more than {allowed:g}, as it should not"
    return (
        "rises, so together they are not irrelevant" if verdict == "refuted" else f"may rise by more than {allowed:g}"
    )


def _beside_random(row: xr.Dataset, size: int) -> str:
    draws, beyond = row["random_set"].values, interval_of(row, "beyond_random")
    if float(row["random_shared"]) == 1:
        return "Random heads to compare with would be the same ones: they are all heads of their layers."
    those, these = ("as many random heads of the same layers", "these") if size > 1 else RANDOM_HEAD
    verdict = "a difference is not shown"
    if beyond[2] < 0:
        verdict = f"{these} can be removed more safely than those"
    elif beyond[1] > 0:
        verdict = f"removing {these} is worse than that"
    return (
        f"Without {those} it changes by {float(row['random_change']):+.3f} on average ({len(draws)} draws); {verdict}: "
        f"{spell_interval(beyond, signed=True)}."
    )
