"""Heads with high scores and what happens without them, in rows and sentences."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.story.names import interval_of, spell_interval
from headcount.story.notes import blank_note, cut_note, source_note

COLUMNS = ("head", "score", "change of the loss without it", "q")


def carrier_rows(result: xr.Dataset) -> list[tuple[str, ...]]:
    """The heads with the highest scores, a row for each, in the order of COLUMNS."""
    rows: list[tuple[str, ...]] = []
    for number in range(result.sizes["rank"]):
        row = result.isel(rank=number)
        rows.append(
            (
                str(row["top_head"].values),
                spell_interval(interval_of(row, "top_score")),
                spell_interval(interval_of(row, "single"), signed=True),
                f"{float(row['single_q']):.2g}",
            )
        )
    return rows


def carrier_sentences(result: xr.Dataset) -> list[str]:
    """Whether these heads carry what the measure is about: together, beside random heads, and one by one."""
    attributes = result.attrs
    top, examples = attributes["top"], attributes["examples"]
    together, beyond = interval_of(result, "together"), interval_of(result, "beyond_random")
    verb = "rises" if together[1] > 0 else "falls" if together[2] < 0 else "is not shown to change"
    verdict = "more than" if beyond[1] > 0 else "less than" if beyond[2] < 0 else "not shown to differ from"
    draws = result["random_set"].values
    clear = significant(result["single_q"].values) & (result["single"].values > 0)
    lines = [
        (
            f"Without the {top} heads that score highest in {attributes['measure']} on {attributes['selecting']:,} "
            f"texts, the loss on {examples:,} other texts {verb}: from "
            f"{float(result['baseline']):.3f} by "
            f"{spell_interval(together, signed=True)} nats."
        ),
        (
            f"Without as many random heads of the same layers it changes by {float(result['random']):+.3f} "
            f"({draws.min():+.3f} to {draws.max():+.3f} in {len(draws)} draws): the {top} heads change it by {verdict} "
            f"that, {spell_interval(beyond, signed=True)}."
        ),
        f"{int(clear.sum()):,} of the {top} raise the loss significantly when ablated alone (q < {LEVEL}).",
    ]
    correlation = float(result["score_and_effect"])
    if np.isfinite(correlation):
        lines.append(f"Among the {top}, score and effect have a rank correlation of {correlation:+.2f}.")
    return [*lines, *source_note(attributes), *cut_note(attributes), *blank_note(attributes)]
