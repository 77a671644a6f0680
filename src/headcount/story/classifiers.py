"""How much syntax classifiers find in the attention of all heads: rows and sentences, and what they do not show."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.probe_names import ATTENTION, BOTH, DISTANCE, MOST_WORDS, RANDOM
from headcount.story.names import interval_of, spell_direction, spell_head, spell_interval
from headcount.story.notes import blank_note, causal_note, cut_note, left_out_note

NAMED = 3
"""Heads that a sentence names."""


def heading(probed: xr.Dataset) -> str:
    split = probed.attrs["split"]
    words = int(probed["test_words"].sum())
    return (
        f"Unlabelled attachment score in percent, {words:,} words (without punctuation) of {split['test']:,} test "
        f"sentences; {split['train']:,} sentences train, {split['development']:,} stop the training:"
    )


def classifier_rows(probed: xr.Dataset) -> list[tuple[str, ...]]:
    """For each classifier its name, score with interval, the range over the seeds, the gain over distance and words."""
    rows: list[tuple[str, ...]] = []
    for name in probed["probe"].values:
        row = probed.sel(probe=name)
        seeds = 100 * row["uas_by_seed"].values
        trained = np.isfinite(float(row["epochs"]))
        rows.append(
            (
                str(name),
                spell_interval(_points(row, "uas"), 1),
                f"{seeds.min():.1f} to {seeds.max():.1f}" if trained else "",
                "" if name == DISTANCE else spell_interval(_points(row, "gain_distance"), 1, signed=True),
            )
        )
    return rows


def classifier_sentences(probed: xr.Dataset) -> list[str]:
    """What the table comes to, which heads the classifier weights most, and what was left out."""
    lines = []
    for name in (ATTENTION, BOTH):
        lines.append(_compare(probed, name, "gain_distance", DISTANCE))
        if "gain_random_weights" in probed:
            lines.append(_compare(probed, name, "gain_random_weights", f"{name}{RANDOM}"))
    lines.append(_weights(probed))
    return [*lines, *_conditions(probed), *cut_note(probed.attrs), *blank_note(probed.attrs)]


def _compare(probed: xr.Dataset, name: str, gain: str, other: str) -> str:
    """One classifier beside another, and whether the paired difference is shown."""
    difference = _points(probed.sel(probe=name), gain)
    verdict = "more than" if difference[1] > 0 else "less than" if difference[2] < 0 else "not shown to differ from"
    own, others = (float(probed["uas"].sel(probe=each)) for each in (name, other))
    return (
        f"From {name}, {own:.1%} of the syntactic heads are found: {verdict} the {others:.1%} from {other} "
        f"({spell_interval(difference, 1, signed=True)} points)."
    )


def _weights(probed: xr.Dataset) -> str:
    """The heads with the largest positive weights; a weight is no measure of how well a head does alone."""
    weights = probed["weight"]
    flat = np.nan_to_num(weights.values, nan=-np.inf).ravel()
    stacked = int(weights.notnull().any(("layer", "head", "direction")).sum()) > 1
    named = []
    for number in np.argsort(-flat, kind="stable")[:NAMED]:
        *index, direction = np.unravel_index(number, weights.shape)
        arrow = spell_direction(probed, str(weights["direction"].values[direction]))
        named.append(f"{spell_head(probed, index, stacked)} {arrow} ({flat[number]:+.1f})")
    return (
        f"Largest weights of the attention-only classifier: {', '.join(named)}; heads share what they know, so a small "
        "weight does not mean that a head knows nothing."
    )


def _conditions(probed: xr.Dataset) -> list[str]:
    """What the numbers depend on: vectors, masks, ROOT, and the words and sentences that were left out."""
    attributes = probed.attrs
    lines = []
    if attributes["vectors_known"] < 1:
        lines.append(f"{attributes['vectors_from']} has a vector for {attributes['vectors_known']:.1%} of the words.")
    lines += causal_note(probed, "between two words there is attention in one direction only")
    if attributes["root"] != "special tokens":
        lines.append("The tokenizer adds no special tokens: ROOT has a learned constant in place of attention.")
    lines += left_out_note(attributes["too_long"], "sentence", f"longer than {MOST_WORDS} words")
    return [*lines, *(note for why, count in attributes["lost"].items() for note in left_out_note(count, "word", why))]


def _points(row: xr.Dataset, name: str) -> tuple[float, float, float]:
    """A share and its interval, in percent."""
    value, low, high = interval_of(row, name)
    return 100 * value, 100 * low, 100 * high
