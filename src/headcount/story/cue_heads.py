"""Heads that carry cues, in rows and sentences: reliance on cues, the heads behind it, the model without them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.story.names import in_points, interval_of, short_name, spell_head, spell_interval
from headcount.story.notes import blank_note, cut_note, source_note

COLUMNS = ("head", "reliance on cues", "q", "right", "wrong", "attention")


def cue_head_rows(result: xr.Dataset, most: int) -> list[tuple[str, ...]]:
    """The heads without which reliance on cues changes most, a row for each, in the order of COLUMNS."""
    size = np.nan_to_num(np.abs(result["cue_effect"].values), nan=-1)
    rows: list[tuple[str, ...]] = []
    for flat in np.argsort(-size.ravel(), kind="stable")[:most]:
        index = np.unravel_index(flat, size.shape)
        if size[index] < 0:
            break
        at = result.isel(dict(zip(("stack", "layer", "head"), map(int, index), strict=True)))
        attention = "-"
        if "attention" in result:
            attention = f"{float(at['attention']):.3f} ({float(at['uniform']):.3f})"
        rows.append(
            (
                spell_head(result, index, result.sizes["stack"] > 1),
                spell_interval(interval_of(at, "cue_effect"), 2, signed=True),
                f"{float(at['cue_effect_q']):.2g}",
                f"{float(at['effect_right']):+.2f}",
                f"{float(at['effect_wrong']):+.2f}",
                attention,
            )
        )
    return rows


def cue_head_sentences(result: xr.Dataset) -> list[str]:
    """Whether the model relies on cues, which heads carry them, and what the model is without those."""
    return [
        *_reliance(result),
        *_carriers(result),
        *_attention(result),
        *_without(result),
        *source_note(result.attrs),
        *cut_note(result.attrs),
        *blank_note(result.attrs),
    ]


def _reliance(result: xr.Dataset) -> list[str]:
    model = short_name(str(result.attrs.get("model", "the model")))
    right, wrong = int(result["right_examples"]), int(result["wrong_examples"])
    cues = [str(cue) for cue in result["cue"].values]
    named = ", ".join(f'"{cue}"' for cue in cues[:5]) + (f" and {len(cues) - 5:,} more" if len(cues) > 5 else "")
    reliance = interval_of(result, "reliance")
    verdict = "relies on" if reliance[1] > 0 else "goes against" if reliance[2] < 0 else "is not shown to rely on"
    return [
        f"Cues ({named}) point to the right label in {right:,} examples and to a wrong one in {wrong:,}.",
        (
            f"{model} {verdict} cues: the log-odds of the right label differ by {spell_interval(reliance, 2, True)} "
            f"between the two; evidence beyond cues: {spell_interval(interval_of(result, 'evidence'), 2, True)}."
        ),
    ]


def _carriers(result: xr.Dataset) -> list[str]:
    clear = significant(result["cue_effect_q"].values)
    effect = result["cue_effect"].values
    carrying, against = int((clear & (effect < 0)).sum()), int((clear & (effect > 0)).sum())
    if not clear.any():
        return [f"No head is shown to carry cues: ablating one never changes the reliance significantly (q < {LEVEL})."]
    lines = [
        (
            f"Without {carrying:,} of {result.attrs['heads']:,} heads the model relies on cues significantly less "
            f"(q < {LEVEL}), without {against:,} more."
        )
    ]
    known = np.isfinite(result["selectivity"].values)
    if carrying and known.any():
        selective = int((clear & (effect < 0) & (result["selectivity_low"].values > 0)).sum())
        verb = "is" if selective < 2 else "are"
        lines.append(
            f"{selective or 'None'} of the {carrying:,} {verb} shown to take a larger share of the reliance on "
            "cues than of the evidence beyond them, and not to weaken the model as a whole."
        )
    elif carrying:
        lines.append("The model's evidence beyond cues is too small for a comparison with it.")
    return lines


def _attention(result: xr.Dataset) -> list[str]:
    if "gain" not in result or not np.isfinite(result["gain"].values).any():
        return []
    index = np.unravel_index(int(np.nanargmax(result["gain"].values)), result["gain"].shape)
    at = result.isel(dict(zip(("stack", "layer", "head"), map(int, index), strict=True)))
    head = spell_head(result, index, result.sizes["stack"] > 1)
    low = float(at["gain_low"])
    if not low > 0:
        return ["No head is shown to give cue words more attention than uniform attention would."]
    return [
        (
            f"{head} looks at cue words most: {float(at['attention']):.3f} of its attention, "
            f"{float(at['uniform']):.3f} if it were uniform."
        )
    ]


def _without(result: xr.Dataset) -> list[str]:
    """The largest set for which random heads are clearly beaten, or the largest."""
    gains = result["reliance_gain_high"].values < 0
    number = int(np.flatnonzero(gains)[-1]) if gains.any() else result.sizes["removed"] - 1
    row = result.isel(removed=number)
    count, heads = int(row["removed"]), str(row["removed_heads"].values)
    change, gain = interval_of(row, "reliance_change"), interval_of(row, "reliance_gain")
    accuracy = interval_of(row, "accuracy_change")
    verdict = "falls" if change[2] < 0 else "rises" if change[1] > 0 else "is not shown to change"
    beyond = "less" if gain[2] < 0 else "more" if gain[1] > 0 else "not shown to differ"
    subject = f"the {count} heads that carry most" if count > 1 else "the head that carries most"
    price = "falls" if accuracy[2] < 0 else "rises" if accuracy[1] > 0 else "is not shown to change"
    return [
        (
            f"Without {subject} ({heads}), selected on one half of the examples, reliance on cues {verdict} on the "
            f"other half: {spell_interval(change, 2, True)}, to {spell_interval(interval_of(row, 'reliance_after'), 2)}"
            "."
        ),
        (
            f"Beside {result.attrs['randoms']} random sets of as many heads of the same layers "
            f"({float(row['random_reliance_change']):+.2f}), that is {beyond}: {spell_interval(gain, 2, True)}."
        ),
        (
            f"Accuracy {price}: {spell_interval(in_points(accuracy), 1, True)} points (random heads: "
            f"{100 * float(row['random_accuracy_change']):+.1f})."
        ),
    ]
