"""Which heads find antecedents: rows and sentences, each claim with the documents that it was not selected on."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.probe_names import ALL, TOKENIZER_LOST
from headcount.story.names import interval_of, spell_direction
from headcount.story.notes import causal_note, probe_notes
from headcount.story.relations import compare_shares

BASELINES = ("nearest", "head_match", "rules", "random_weights")
RULE_NAMES = {"nearest": "the nearest mention", "head_match": "the same head word"}


def antecedent_rows(probed: xr.Dataset) -> list[tuple[str, ...]]:
    """For all mentions and each kind: held-out cases, the best head with its direction, its accuracy, the baselines."""
    rows: list[tuple[str, ...]] = []
    for number in range(probed.sizes["relation"]):
        row = probed.isel(relation=number)
        if not np.isfinite(float(row["best_accuracy"])):
            continue
        shares = [row.get(f"baseline_{name}") for name in BASELINES]
        rows.append(
            (
                str(row["relation"].item()),
                str(int(row["held_out_cases"])),
                f"{row['best_head'].item()} {spell_direction(probed, str(row['best_direction'].item()))}",
                f"{float(row['best_accuracy']):.3f}",
                *("" if share is None else f"{float(share):.3f}" for share in shares),
            )
        )
    return rows


def antecedent_sentences(probed: xr.Dataset) -> list[str]:
    """What the table comes to: all mentions, the kinds that a head is good at, and what was left out."""
    whole = probed.sel(relation=ALL)
    if not np.isfinite(float(whole["best_accuracy"])):
        lines = ["One half of the documents has no mention with an antecedent: nothing could be evaluated."]
        return [*lines, *_left_out(probed), *probe_notes(probed.attrs)]
    head, right, rules = str(whole["best_head"].item()), float(whole["best_accuracy"]), float(whole["baseline_rules"])
    rule = str(whole["best_baseline"].item())
    verdict = compare_shares(interval_of(whole, "gain"), "documents")
    share = float(whole[f"baseline_{rule}"])
    lines = [
        f"{head} finds an antecedent of {right:.1%} of the mentions, {RULE_NAMES[rule]} {share:.1%}: {verdict}.",
        f"The rule sieve, which also knows number, gender and person, finds one of {rules:.1%}.",
    ]
    single = probed.sel(relation=[name for name in probed["relation"].values if name != ALL])
    shown = [str(name) for name in single["relation"].values[(single["gain_low"] > 0).values]]
    who = f"For {' and '.join(shown)} mentions a head is" if shown else "For no kind of mention is a head"
    lines.append(
        f"{who} shown to be right more often than the nearest mention and the same head word (95 % interval above 0 on "
        "documents that did not select it, each kind by itself)."
    )
    lines += causal_note(probed, "attention from antecedent to mention is left out")
    return [*lines, *_left_out(probed), *probe_notes(probed.attrs)]


def _left_out(probed: xr.Dataset) -> list[str]:
    lost = {reason: count for reason, count in probed.attrs.get("lost", {}).items() if reason not in TOKENIZER_LOST}
    return [f"Left out ({count:,}): {reason}." for reason, count in lost.items() if count]
