"""A sweep over pairs of heads in sentences: which pairs interact, how sure that is, and what was not run."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, REDUNDANT, SYNERGISTIC, kind_of_pair, significant
from headcount.core.results import PAIR
from headcount.story.names import interval_of, spell_estimate, spell_interval
from headcount.story.sweeps import missed_sentences

LOSS = "the loss"


def pair_sentences(result: xr.Dataset) -> list[str]:
    """The findings of a sweep over pairs in sentences."""
    metric = str(result.attrs["metric"])
    sentences = [
        f"Baseline {metric} {spell_estimate(interval_of(result, 'baseline'))} on {result.sizes['example']} examples "  # noqa: ISC004
        "(95 % interval).",
        *_selected_sentences(result),
        interactions_sentence(result, metric),
        *_example_sentences(result, metric),
        strongest_sentence(result),
    ]
    if "loss_interaction" in result:
        sentences += [interactions_sentence(result, LOSS, "loss_"), *_example_sentences(result, LOSS, "loss_")]
    return [*sentences, *missed_sentences(result, "pair", "interact"), *_screen_sentences(result)]


def interactions_sentence(result: xr.Dataset, metric: str, prefix: str = "") -> str:
    """How many pairs interact significantly, and in which way."""
    kinds = pair_kinds(result, prefix)
    run, tests = (int(result.attrs["pairs"][name]) for name in ("run", "tests"))
    tested = f"(q < {LEVEL}, {run:,} {'pair' if run == 1 else 'pairs'} tested{f' of {tests:,}' if tests > run else ''})"
    counts = {kind: int((kinds == kind).sum()) for kind in (REDUNDANT, SYNERGISTIC)}
    total = sum(counts.values())
    if not total:
        return f"No pair interacts significantly in {metric} {tested}."
    return (
        f"{total:,} {'pair interacts' if total == 1 else 'pairs interact'} significantly in {metric} {tested}: "
        f"{counts[REDUNDANT]:,} redundant (worse without both heads than the sum of the two effects says), "
        f"{counts[SYNERGISTIC]:,} synergistic (better than the sum says)."
    )


def pair_kinds(result: xr.Dataset, prefix: str = "") -> np.ndarray:
    """The codes of `core/claims.KINDS` for each pair, by the metric or, with the prefix `loss_`, by the loss."""
    higher = bool(result.attrs.get("higher_is_better", True)) and not prefix
    return kind_of_pair(result[f"{prefix}interaction"].values, result[f"{prefix}q"].values, higher)


def _example_sentences(result: xr.Dataset, metric: str, prefix: str = "") -> list[str]:
    """The largest significant interaction of each kind, with the effects it is made of."""
    kinds, sizes = pair_kinds(result, prefix), np.abs(result[f"{prefix}interaction"].values)
    sentences = []
    for kind, word in ((REDUNDANT, "redundant"), (SYNERGISTIC, "synergistic")):
        if not (kinds == kind).any():
            continue
        row = result.isel({PAIR: int(np.where(kinds == kind, sizes, -1).argmax())})
        both, first, second = (float(row[f"{prefix}{name}"]) for name in ("joint", "first_effect", "second_effect"))
        sentences.append(
            f"The largest {word} one is {row[PAIR].values}: {metric} changes by {both:+.4f} without both, by "
            f"{first:+.4f} without {row['first'].values} and by {second:+.4f} without {row['second'].values}."
        )
    return sentences


def strongest_sentence(result: xr.Dataset) -> str:
    """The largest interaction, which is partly chance, and what is left of it on held-out examples."""
    naive, honest, low, high = (
        float(result[f"strongest_{name}"]) for name in ("naive", "honest", "honest_low", "honest_high")
    )
    said = f"The strongest interaction, that of {result['strongest'].values}, has a size of {naive:.4f} on the examples"
    if not np.isfinite(honest):
        return f"{said} that selected it."
    return (
        f"{said} that selected it; selected on one half and evaluated on the other, {honest:.4f} ({low:.4f} to "
        f"{high:.4f} in 95 % of the splits)."
    )


def _selected_sentences(result: xr.Dataset) -> list[str]:
    """Where the heads of the pairs come from, if they were ranked."""
    ranked = result.attrs.get("ranked")
    if ranked is None:
        return []
    heads = f"{ranked['top']:,} of {ranked['of']:,} heads"
    return [
        f"All pairs of the {heads} that rank highest by {ranked['estimate']} on the same examples were run; q is "  # noqa: ISC004
        "corrected for the pairs of all heads. Heads that matter only together may rank low."
    ]


def _screen_sentences(result: xr.Dataset) -> list[str]:
    """How far the estimate can be trusted."""
    if "screen" not in result.attrs:
        return []
    sentences = []
    if "agreement" in result:
        agreement = spell_interval(interval_of(result, "agreement"), 2, signed=True)
        control = result.attrs["screen"]["control"]
        sentences.append(
            f"Among the {control:,} pairs of the control, the rank correlation of the estimate with the interaction in "
            f"the loss is {agreement}."
        )
    return [
        *sentences,
        "A second derivative is about small changes: it may be small where one head of a pair takes over completely.",
    ]


def is_significant(result: xr.Dataset, prefix: str = "") -> bool:
    """Whether any pair interacts significantly."""
    return bool(significant(result[f"{prefix}q"].values).any())
