"""Which heads follow syntactic relations: rows and sentences, each claim with the half that it was not selected on."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import SYNTACTIC
from headcount.story.names import spell_interval
from headcount.story.notes import cut_note

ALL = "all"
TOKENIZER_LOST = ("without a token", "sharing a token", "in a text that its tokens do not spell")


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
                f"{row['best_head'].item()} {_arrow(str(row['best_direction'].item()))}",
                f"{float(row['best_accuracy']):.3f}",
                f"{float(row['baseline_offset']):.3f} ({int(row['best_offset']):+d})",
                spell_interval(interval_of(row, "gain"), signed=True),
                random,
            )
        )
    return rows


def _arrow(direction: str) -> str:
    return "->" if direction == "dependent to head" else "<-"


def interval_of(row: xr.Dataset, name: str) -> tuple[float, float, float]:
    """A value of one relation with the ends of its interval."""
    value, low, high = (float(row[f"{name}{ending}"]) for ending in ("", "_low", "_high"))
    return value, low, high


def relation_sentences(probed: xr.Dataset) -> list[str]:
    """What the table comes to: attachment as a whole, the relations that a head finds, and what was left out."""
    whole = probed.sel(relation=ALL)
    head, right, offset = str(whole["best_head"].item()), float(whole["best_accuracy"]), float(whole["baseline_offset"])
    verdict = compare_shares(interval_of(whole, "gain"))
    lines = [f"{head} finds the syntactic head of {right:.1%} of the words, the best offset {offset:.1%}: {verdict}."]
    single = probed.sel(relation=[name for name in probed["relation"].values if name != ALL])
    if not single.sizes["relation"]:
        lines.append("No relation has enough cases to be looked at alone; give more sentences, or name relations.")
        return [*lines, *lost_words(probed), *cut_note(probed.attrs)]
    shown = single["relation"].values[(single["gain_low"] > 0).values]
    total = single.sizes["relation"]
    lines.append(
        f"For {len(shown)} of {total} relations a head is shown to beat every fixed offset on sentences that did not "
        "select it (95 % interval above 0, each relation by itself)."
    )
    syntactic = int((probed["relation_gain_low"] >= SYNTACTIC).sum())
    lines.append(
        f"{syntactic} of {int(probed['relation_gain'].notnull().sum())} heads are shown to be at least 10 points above "
        "the best offset for the relation that they follow best (Voita et al.'s syntactic heads; each head by itself)."
    )
    return [*lines, *lost_words(probed), *cut_note(probed.attrs)]


def compare_shares(gain: tuple[float, float, float], texts: str = "sentences") -> str:
    """What a gain with its interval shows."""
    if gain[1] > 0:
        return "more"
    return "fewer" if gain[2] < 0 else f"too few {texts} to tell which is more"


def lost_words(probed: xr.Dataset) -> list[str]:
    """How many words the tokenizer lost, and how."""
    lost = {reason: probed.attrs.get("lost", {}).get(reason) for reason in TOKENIZER_LOST}
    return [f"{count} words are left out: {reason}." for reason, count in lost.items() if count]
