"""A choice of heads in sentences: what is removed, what held-out examples say about it, and the random control."""

from __future__ import annotations

import xarray as xr

from headcount.core.claims import CONFIDENCE, choose_cut, examples_needed, judge_cut
from headcount.story.names import digits_for, interval_of, spell_estimate, spell_score

SURE = f"one-sided {100 * CONFIDENCE:.0f} % confidence"


Estimate = tuple[float, float, float]
"""A number with the ends of its interval."""


def cut_sentence(held_out: xr.Dataset, order: str, count: int) -> str:
    """What removing `count` heads costs on held-out examples, with a random order for comparison."""
    together = held_out.attrs.get("heads_per_group")
    groups = f"{count // together} of {held_out.attrs['heads'] // together} key/value groups, " if together else ""
    return (
        f"Without {count} of {held_out.attrs['heads']} heads ({groups}ordered by {order}) {held_out.attrs['metric']} "
        f"changes by {change_of(held_out, order, count)}{start_clause(held_out)} on {held_out.attrs['examples']} "
        f"held-out examples{control_clause(held_out, order, count)}."
    )


def start_clause(curve: xr.Dataset) -> str:
    """Where a score of which less is better starts, since it has no scale of its own; empty for other scores."""
    if curve.attrs.get("higher_is_better", True):
        return ""
    if "baseline_low" in curve:
        whole = spell_estimate(interval_of(curve, "baseline"))
    else:
        whole = spell_score(float(curve["baseline"]))
    return f" from {whole} (lower is better)"


def change_of(curve: xr.Dataset, order: str, count: int) -> str:
    """The change of the score at one step of a curve, with its interval."""
    return spell_estimate(_change(curve, order, count), signed=True)


def _change(curve: xr.Dataset, order: str, count: int) -> Estimate:
    step = curve.sel(order=order, removed=count)
    return float(step["delta"]), float(step["low"]), float(step["high"])


def control_clause(held_out: xr.Dataset, order: str, count: int) -> str:
    """The end of a sentence: what removing as many heads in random orders costs; empty if there is no random order."""
    names = [str(name) for name in held_out["order"].values]
    randoms = [name for name in names if name.startswith("random ") and name != order]
    if not randoms:
        return ""
    changes = held_out["delta"].sel(order=randoms, removed=count).values
    digits = digits_for(*_change(held_out, order, count)[1:])
    if len(randoms) == 1:
        return f"; a random order: {changes[0]:+.{digits}f}"
    return f"; random orders: {changes.mean():+.{digits}f} on average of {len(randoms)}"


def selection_sentence(selection: xr.Dataset, order: str, points: float, by_estimate: bool = False) -> str:
    """How many heads can be removed within a tolerance, by which rule and on how many examples."""
    cut = choose_cut(selection, order, points, by_estimate)
    metric, examples = selection.attrs["metric"], selection.attrs["examples"]
    within = f"within {spell_points(points, metric)} of {metric}"
    if cut.count and by_estimate:
        return f"Selected: {cut.count} heads, the largest cut {within} by point estimate alone on {examples} examples."
    if cut.count:
        return f"Selected: {cut.count} heads, the largest cut shown to stay {within} ({SURE}) on {examples} examples."
    if not cut.by_estimate:
        return f"No cut stays {within}, not even by its point estimate, on {examples} examples."
    more = "" if cut.needed is None else f"; about {cut.needed:,} would be needed for the smallest"
    return (
        f"No cut can be shown to stay {within} ({SURE}) with {examples} examples{more}. The largest "
        f"cut whose point estimate stays within it on these examples removes {cut.by_estimate} heads."
    )


def verdict_sentence(held_out: xr.Dataset, order: str, count: int, points: float) -> str:
    """Whether held-out examples confirm that a cut stays within the tolerance."""
    verdict = judge_cut(held_out, order, count, points)
    allowed = spell_points(points, held_out.attrs["metric"])
    if verdict != "too few examples to tell":
        return f"That it stays within {allowed} is {verdict} by the held-out examples ({SURE})."
    needed = examples_needed(held_out, order, count, points)
    return (
        f"Too few held-out examples to tell whether it stays within {allowed}"
        f"{'' if needed is None else f': about {needed:,} would be needed'}."
    )


def choice_sentences(
    selection: xr.Dataset, held_out: xr.Dataset, order: str, count: int, points: float | None, by_estimate: bool = False
) -> list[str]:
    """What was selected, by which rule, and what the held-out half says about it; without `points`, only its cost."""
    sentences = [] if points is None else [selection_sentence(selection, order, points, by_estimate)]
    if count:
        sentences.append(cut_sentence(held_out, order, count))
    if count and points is not None:
        sentences.append(verdict_sentence(held_out, order, count, points))
    return sentences


def recovery_sentence(
    metric: str,
    how: str,
    before: float,
    after: float,
    whole: Estimate,
    change: Estimate,
    trained_on: str = "the selection half",
) -> str:
    """The scores on held-out examples before and after a recovery, and what is left of the loss, with its interval.

    `whole`: the score of the whole model, `change`: from it to the recovered one.
    """
    digits = digits_for(*change[1:])
    return (
        f"Fine-tuned for {how} on {trained_on}: {metric} {before:.{digits}f} -> {after:.{digits}f} on the "
        f"held-out half, {spell_estimate(change, signed=True)} from the whole model "
        f"({spell_estimate(whole)})."
    )


def spell_points(points: float, metric: str = "") -> str:
    """
    >>> spell_points(1), spell_points(0.5), spell_points(0.5, "perplexity")
    ('1 point', '0.5 points', '0.5 %')
    """
    if metric == "perplexity":
        return f"{points:g} %"
    return f"{points:g} point{'' if points == 1 else 's'}"
