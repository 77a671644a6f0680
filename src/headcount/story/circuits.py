"""A circuit in rows and sentences: how small, how faithful, how complete, and which of its heads are needed."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.core.results import HEAD_DIMS
from headcount.story.cuts import SURE
from headcount.story.names import interval_of, spell_head, spell_interval
from headcount.story.notes import blank_note, cut_note

MOST = 20
"""Heads that a table lists."""
COLUMNS = ("head", "lost when it leaves the circuit", "q")
REPLACED = {
    "resample": "replaced by their outputs on another example",
    "mean": "replaced by their mean outputs",
    "patch": "replaced by their outputs on the counterpart",
    "zero": "at zero",
    "uniform": "with uniform attention",
}


def circuit_rows(found: xr.Dataset, most: int = MOST) -> list[tuple[str, ...]]:
    """The heads of the circuit, those that are needed most first, in the order of COLUMNS; at most so many."""
    stacked = found.sizes["stack"] > 1
    places = np.argwhere(found["in_circuit"].transpose(*HEAD_DIMS).values == 1)
    lost = found["minimality"].transpose(*HEAD_DIMS).values
    rows: list[tuple[str, ...]] = []
    for place in sorted(places.tolist(), key=lambda place: -lost[tuple(place)])[:most]:
        one = found.isel(dict(zip(HEAD_DIMS, place, strict=True)))
        rows.append(
            (
                spell_head(found, place, stacked),
                spell_interval(interval_of(one, "minimality"), signed=True),
                f"{float(one['minimality_q']):.2g}",
            )
        )
    return rows


def circuit_sentences(found: xr.Dataset) -> list[str]:
    """What was found on one half of the examples, and what the held-out half says about it."""
    attributes = found.attrs
    notes = [*cut_note(attributes), *blank_note(attributes)]
    sure = "by its point estimate" if attributes["by_estimate"] else SURE
    if attributes["size"] == attributes["of"]:
        return [
            (
                f"No set of fewer than all {attributes['of']} heads is shown to keep {attributes['metric']} within "
                f"{_tolerance(attributes)} on the {attributes['selecting']:,} examples that selected ({sure})."
            ),
            *notes,
        ]
    sentences = [_found(found), *_faithful(found), *_random(found), *_complete(found), _minimal(found)]
    return [*sentences, *notes]


def _found(found: xr.Dataset) -> str:
    attributes = found.attrs
    sizes = attributes["sizes"]
    passes = len(sizes) - 1
    line = f"The circuit has {attributes['size']} of {attributes['of']} heads, all others {REPLACED[attributes['how']]}"
    if attributes["tolerance"]:
        sure = "by its point estimate" if attributes["by_estimate"] else SURE
        line += f": the smallest set found within {_tolerance(attributes)} ({sure})"
    line += f", on {attributes['selecting']:,} examples"
    if passes:
        line += f". {passes} pass{'es' if passes > 1 else ''} dropped {sizes[0] - sizes[-1]} of {sizes[0]} heads"
        if attributes["tolerance"] and not attributes["settled"]:
            line += "; more passes may drop more"
    return f"{line}."


def _faithful(found: xr.Dataset) -> list[str]:
    attributes, metric = found.attrs, found.attrs["metric"]
    examples = f"{attributes['examples']:,} held-out examples"
    scores = (
        f"On {examples}, {metric} is {float(found['circuit']):.3f} with the circuit alone, "
        f"{float(found['whole']):.3f} for the whole model and {float(found['replaced']):.3f} with all heads replaced"
    )
    share = interval_of(found, "faithfulness")
    if not np.isfinite(share[0]):
        return [f"{scores}: the last two do not differ enough for a share."]
    lines = [f"{scores}: faithfulness {spell_interval(share)}."]
    verdict = attributes["verdict"]
    if verdict == "too few examples to tell":
        lines.append(f"Too few held-out examples to tell whether it stays within {_tolerance(attributes)}.")
    elif verdict:
        lines.append(f"That it stays within {_tolerance(attributes)} is {verdict} by the held-out examples ({SURE}).")
    return lines


def _random(found: xr.Dataset) -> list[str]:
    if "random_faithfulness" not in found:
        return []
    shares = found["random_faithfulness"].values
    if not np.isfinite(shares).all():
        return []
    beyond = interval_of(found, "beyond_random")
    shown = "" if beyond[1] > 0 or beyond[2] < 0 else ", not shown to differ from that of the circuit"
    return [
        (
            f"Random sets with as many heads in each layer have a mean faithfulness of {float(found['random']):.3f} "
            f"({shares.min():.3f} to {shares.max():.3f} in {len(shares)} draw{'s' if len(shares) > 1 else ''}){shown}."
        )
    ]


def _complete(found: xr.Dataset) -> list[str]:
    """The model without the whole circuit, and the subset where circuit and model differ most."""
    metric = found.attrs["metric"]
    first = (
        f"Completeness: without the circuit, the model has {float(found['without']):.3f} {metric}; with all heads "
        f"replaced, {float(found['replaced']):.3f}."
    )
    gaps = found["gap"].values
    clear = significant(found["gap_q"].values)
    tested = f"{len(gaps)} subset{'s' if len(gaps) > 1 else ''} of its heads"
    if not clear.any():
        return [first, f"Without any of {tested}, circuit and model are not shown to differ (q < {LEVEL})."]
    worst = found.isel(subset=int(np.where(clear, np.abs(gaps), -1).argmax()))
    gap, size = interval_of(worst, "gap"), int(worst["subset_size"])
    ends = gap if gap[0] > 0 else (-gap[0], -gap[2], -gap[1])
    which = str(worst["subset"].values) if size == 1 else f"{'all' if size == found.attrs['size'] else size} of them"
    share = f", {abs(gap[0] / float(found['difference'])):.0%} of what all heads bring"
    return [
        first,
        (
            f"Without {int(clear.sum())} of {tested}, circuit and model differ significantly (q < {LEVEL}); most "
            f"without {which}: the circuit is {spell_interval(ends)} "
            f"{'better' if gap[0] > 0 else 'worse'}{share if np.isfinite(float(found['faithfulness'])) else ''}."
        ),
    ]


def _minimal(found: xr.Dataset) -> str:
    q, lost = found["minimality_q"].values, found["minimality"].values
    needed = int((significant(q) & (lost > 0)).sum())
    line = (
        f"Minimality: {needed} of its {found.attrs['size']} heads are needed, each by itself: "
        f"{found.attrs['metric']} gets significantly worse when it leaves (q < {LEVEL})"
    )
    if "random_minimality" in found:
        random = found["random_minimality"].values.mean()
        change = -random if found.attrs["higher_is_better"] else random
        line += f"; a head that leaves a random set changes it by {change:+.3f} on average"
    return f"{line}."


def _tolerance(attributes: dict[str, object]) -> str:
    text = str(attributes["tolerance"])
    return f"{text} of what all heads bring" if text.endswith("%") else f"{text} of {attributes['metric']}"
