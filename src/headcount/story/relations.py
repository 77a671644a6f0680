"""Which heads follow syntactic relations: rows and sentences, each claim with the half that it was not selected on."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import SYNTACTIC
from headcount.core.probe_names import ALL
from headcount.story.names import interval_of, spell_direction, spell_interval
from headcount.story.notes import causal_note, probe_notes

SIDES = {"dependent to head": "before", "head to dependent": "after"}
"""Under a causal mask, where the syntactic head is that a direction can find."""


def relation_rows(probed: xr.Dataset) -> list[tuple[str, ...]]:
    """For each relation, the largest gain first: its best head and direction, accuracies, the gain, the control."""
    rows: list[tuple[str, ...]] = []
    order = np.argsort(-np.nan_to_num(probed["gain"].values, nan=-2), kind="stable")
    for number in order:
        row = probed.isel(relation=int(number))
        if not np.isfinite(float(row["best_accuracy"])):
            continue
        random = f"{float(row['baseline_random_weights']):.3f}" if "baseline_random_weights" in probed else ""
        rows.append(
            (
                str(row["relation"].item()),
                f"{row['best_head'].item()} {spell_direction(probed, str(row['best_direction'].item()))}",
                f"{float(row['best_accuracy']):.3f}",
                f"{float(row['baseline_offset']):.3f} ({int(row['best_offset']):+d})",
                spell_interval(interval_of(row, "gain"), signed=True),
                random,
            )
        )
    return rows


def relation_sentences(probed: xr.Dataset) -> list[str]:
    """What the table comes to: attachment as a whole, the relations that a head finds, and what was left out."""
    asked = "in each direction heads and offsets are asked only for the words whose syntactic head is on that side"
    return [
        *_attachment(probed.sel(relation=ALL)),
        *causal_note(probed, asked),
        *_relations(probed),
        *probe_notes(probed.attrs),
    ]


def _attachment(whole: xr.Dataset) -> list[str]:
    """All relations together."""
    if not np.isfinite(float(whole["best_accuracy"])):
        return ["One half of the sentences has no dependencies: nothing could be evaluated; give more sentences."]
    head, right, offset = str(whole["best_head"].item()), float(whole["best_accuracy"]), float(whole["baseline_offset"])
    side = SIDES[str(whole["best_direction"].item())]
    words = f"words whose head comes {side} them" if causal_note(whole, "") else "words"
    verdict = compare_shares(interval_of(whole, "gain"))
    return [f"{head} finds the syntactic head of {right:.1%} of the {words}, the best offset {offset:.1%}: {verdict}."]


def _relations(probed: xr.Dataset) -> list[str]:
    """For how many relations, and by how many heads, more is shown than fixed offsets get."""
    single = probed.sel(relation=[name for name in probed["relation"].values if name != ALL])
    if not single.sizes["relation"]:
        return ["No relation has enough cases to be looked at alone; give more sentences, or name relations."]
    shown = int((single["gain_low"] > 0).sum())
    syntactic = int((probed["relation_gain_low"] >= SYNTACTIC).sum())
    by_relation = (
        f"For {shown} of {single.sizes['relation']} relations a head is shown to beat every fixed offset on sentences "
        "that did not select it (95 % interval above 0, each relation by itself)."
    )
    by_head = (
        f"{syntactic} of {int(probed['relation_gain'].notnull().sum())} heads are shown to be at least 10 points above "
        "the best offset for the relation that they follow best (Voita et al.'s syntactic heads; each head by itself)."
    )
    return [by_relation, by_head]


def compare_shares(gain: tuple[float, float, float], texts: str = "sentences") -> str:
    """What a gain with its interval shows."""
    if gain[1] > 0:
        return "more"
    return "fewer" if gain[2] < 0 else f"too few {texts} to tell which is more"
