"""A budget in sentences: what is left of a model, how fast it is, what held-out examples say, beside the controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcount.core.claims import examples_for, judge_bounds, oriented_changes, tolerance_of
from headcount.story.cuts import SURE, Estimate, spell_points, start_clause
from headcount.story.names import digits_for, spell_estimate, spell_interval

POINTS = 1.0
"""Points that a smaller model may lose, where the budget is no tolerance."""
PARTS = {"heads": "heads", "units": "units", "both": "heads and units"}
"""What is removed, by the attribute `what`."""
CURRENCIES = {
    "operations": "share of the operations",
    "weights": "share of the parameters",
    "time": "share of the time",
}
"""What the steps of a budget are, by the attribute `currency`."""
SAME = 0.02
"""Shares of operations are called the same up to this difference."""


def budget_sentences(choosing: xr.Dataset, confirming: xr.Dataset) -> list[str]:
    """What was selected for a budget on one half of the examples, and what the held-out half says about it."""
    chosen = choosing.attrs.get("chosen")
    if chosen is None:
        return [nothing_sentence(choosing)]
    step = int(chosen)
    return [
        *left_sentences(confirming, step),
        speed_sentence(confirming, step),
        *asked_speed_sentences(confirming, step),
        *selection_sentences(choosing, step),
        score_sentence(confirming, step),
        verdict_sentence(confirming, step),
        *control_sentences(confirming, step),
    ]


def left_sentences(budget: xr.Dataset, step: int) -> list[str]:
    """What is left of the model at a step of the first order: heads, units, parameters and operations."""
    point = budget.isel(order=0, step=step)
    refit = "; what is left was refitted by least squares, without training" if budget.attrs.get("refit") else ""
    weights, operations = (_percent(point[name]) for name in ("weights", "operations"))
    kinds = [_left(point, "heads", "heads"), _left(point, "units", "feed-forward units")]
    return [
        f"Budget {budget.attrs['budget']}: {' and '.join(filter(None, kinds))} are left{refit}.",
        f"That is {weights} of the parameters and {operations} of the operations.",
    ]


def speed_sentence(budget: xr.Dataset, step: int) -> str:
    """How fast the smaller model was in measured passes; no word of a gain if the interval does not exclude none."""
    point = budget.isel(order=0, step=step)
    speed = (float(point["speed"]), float(point["speed_low"]), float(point["speed_high"]))
    return _spell_speed(speed, (budget.attrs["batch"], budget.attrs["length"]))


def asked_speed_sentences(budget: xr.Dataset, step: int) -> list[str]:
    """Whether the speed that was asked for is reached by the measured one; nothing where the budget is no speed."""
    name, _, times = str(budget.attrs["budget"]).partition("=")
    low, high = (float(budget[end].isel(order=0, step=step)) for end in ("speed_low", "speed_high"))
    if budget.attrs.get("currency") != "time" or name != "faster" or not np.isfinite(low):
        return []
    asked = float(times)
    if low <= asked <= high:
        said = f"Whether the speed that was asked for, {asked:g} times the whole model's, is reached"
        return [f"{said} is not clear from the measurement."]
    if high < asked:
        return [f"The speed that was asked for, {asked:g} times the whole model's, is not reached."]
    return [f"The speed that was asked for, {asked:g} times the whole model's, is reached."]


def selection_sentences(choosing: xr.Dataset, step: int) -> list[str]:
    """Whether the selection half shows the tolerance to be kept; nothing where the budget is no tolerance."""
    points = choosing.attrs.get("tolerance")
    if points is None:
        return []
    changes, worst, _ = oriented_changes(choosing, _first(choosing))
    allowed = _allowed(choosing, points)
    within = f"within {_points(choosing, points)} on {choosing.attrs['examples']:,} examples"
    if worst[step] >= -allowed - 1e-12:
        return [f"Selected because it is shown to stay {within} ({SURE})."]
    if changes[step] >= -allowed - 1e-12:
        return [f"Selected because it stays {within} by its point estimate alone."]
    return [f"It does not stay {within}, the half that selected it."]


def score_sentence(confirming: xr.Dataset, step: int) -> str:
    """The change of the score on the held-out half."""
    metric = confirming.attrs["metric"]
    change = spell_estimate(_change(confirming, _first(confirming), step), signed=True)
    return (
        f"Selected on one half of the examples, evaluated on the held-out half: {metric} changes by "
        f"{change}{start_clause(confirming)} on {confirming.attrs['examples']:,} examples."
    )


def verdict_sentence(confirming: xr.Dataset, step: int) -> str:
    """Whether held-out examples confirm that the smaller model stays within the tolerance."""
    points = float(confirming.attrs.get("tolerance", POINTS))
    _, worst, best = (float(values[step]) for values in oriented_changes(confirming, _first(confirming)))
    allowed, said = _allowed(confirming, points), _points(confirming, points)
    verdict = judge_bounds(worst, best, allowed)
    if verdict != "too few examples to tell":
        return f"That it stays within {said} is {verdict} by the held-out examples ({SURE})."
    needed = examples_for(worst, best, allowed, int(confirming.attrs["examples"]))
    return (
        f"Too few held-out examples to tell whether it stays within {said}"
        f"{'' if needed is None else f': about {needed:,} would be needed'}."
    )


def control_sentences(confirming: xr.Dataset, step: int) -> list[str]:
    """The other orders at the same step, each called worse or better only if its interval lies apart."""
    names = [str(name) for name in confirming["order"].values]
    own, higher = _change(confirming, names[0], step), bool(confirming.attrs.get("higher_is_better", True))
    digits, currency = digits_for(*own[1:]), confirming.attrs.get("currency", "operations")
    sentences = []
    for name in (name for name in names[1:] if not _is_random(name)):
        change = _change(confirming, name, step)
        if not np.isfinite(change[0]):
            sentences.append(f"{name.capitalize()} does not reach this {CURRENCIES[currency]}.")
            continue
        sentences.append(
            f"{name.capitalize()} {_at(confirming, [name], step)}: {spell_estimate(change, signed=True)}; "
            f"{_spell_apart([_apart(change, own, higher)])}."
        )
    randoms = [name for name in names[1:] if _is_random(name)]
    there = [name for name in randoms if np.isfinite(_change(confirming, name, step)[0])]
    if there:
        changes = [_change(confirming, name, step) for name in there]
        mean = float(np.mean([change[0] for change in changes]))
        sentences.append(
            f"Random {PARTS[confirming.attrs['what']]} {_at(confirming, there, step)}: {mean:+.{digits}f}"
            f"{f' on average of {len(there)} draws' if len(there) > 1 else ''}; "
            f"{_spell_apart([_apart(change, own, higher) for change in changes])}."
        )
    return sentences


def within_by_estimate(choosing: xr.Dataset) -> np.ndarray:
    """Which steps of the first order stay within the tolerance by their point estimates."""
    changes, *_ = oriented_changes(choosing, _first(choosing))
    return np.asarray(changes >= -_allowed(choosing, choosing.attrs["tolerance"]) - 1e-12)


def staged_sentences(
    stages: Sequence[float],
    numbers: Mapping[str, float],
    whole: Estimate,
    change: Estimate,
    metric: str,
    training: str,
    currency: str,
    shape: tuple[int, int],
) -> list[str]:
    """A budget that was reached in stages: what is left, how fast it is, and its score on the held-out half.

    `stages`: the share of the currency that each left; `whole`: the whole model's score; `training`: how each was
    recovered; `shape`: of the timed batch.
    """
    shares = ", ".join(f"{100 * share:.0f} %" for share in stages)
    speed = (numbers["speed"], numbers["speed_low"], numbers["speed_high"])
    return [
        f"{len(stages)} stages left {shares} of the {currency}, each recovered for {training}.",
        (
            f"{_percent(numbers['operations'])} of the operations and {_percent(numbers['weights'])} of the "
            f"parameters are left. {_spell_speed(speed, shape)}"
        ),
        (
            f"On the held-out half {metric} changes by {spell_estimate(change, signed=True)} from "
            f"{spell_estimate(whole)}."
        ),
    ]


def nothing_sentence(choosing: xr.Dataset) -> str:
    """Why no step was selected."""
    points, examples = choosing.attrs.get("tolerance"), int(choosing.attrs["examples"])
    start = f"Nothing is selected for the budget {choosing.attrs['budget']}"
    operations, weights = (choosing[name].isel(order=0).values for name in ("operations", "weights"))
    if points is None:
        least = (
            f"{_percent(np.nanmin(operations))} of the operations and {_percent(np.nanmin(weights))} of the parameters"
        )
        return f"{start}: no step of the curve keeps it; the smallest model has {least}."
    _, worst, best = oriented_changes(choosing, _first(choosing))
    allowed, said = _allowed(choosing, points), _points(choosing, points)
    inside = operations[within_by_estimate(choosing)]
    if not len(inside):
        return f"{start}: no step stays within {said}, not even by its point estimate, on {examples:,} examples."
    needed = examples_for(float(worst[0]), float(best[0]), allowed, examples)
    more = "" if needed is None else f"; about {needed:,} would be needed for the first step"
    return (
        f"{start}: no step can be shown to stay within {said} ({SURE}) with {examples:,} examples{more}. By point "
        f"estimate alone a model with {_percent(np.min(inside))} of the operations does."
    )


def _spell_speed(measured: Estimate, shape: tuple[int, int]) -> str:
    """The measured speed as a sentence: its median and quartiles, at a batch size and a length."""
    speed, low, high = measured
    if not np.isfinite(speed):
        return "Its speed was not measured."
    at = f"measured at batch {shape[0]}, length {shape[1]}"
    spelled = f"{spell_interval(measured, 2)} (median and quartiles)"
    if low <= 1 <= high:
        return f"No clear difference in speed: {spelled} times the whole model's, {at}."
    return f"It is {spelled} times as fast as the whole model, {at}."


def _left(point: xr.Dataset, kind: str, noun: str) -> str:
    """`72 of 144 heads`; empty if the model has none of this kind."""
    left, whole = (int(np.nansum(point[f"{kind}_{part}"].values)) for part in ("left", "whole"))
    if not whole:
        return ""
    return f"all {whole:,} {noun}" if left == whole else f"{left:,} of {whole:,} {noun}"


def _at(budget: xr.Dataset, orders: Sequence[str], step: int) -> str:
    """Where other orders stand at a step: at the same operations, unless theirs differ."""
    own = float(budget["operations"].isel(order=0, step=step))
    theirs = float(budget["operations"].sel(order=list(orders)).isel(step=step).mean())
    return "at the same operations" if abs(theirs - own) <= SAME else f"at {_percent(theirs)} of the operations"


def _apart(change: Estimate, own: Estimate, higher: bool) -> int:
    """-1 if a change is worse than the selected model's, 1 if it is better, 0 if the intervals do not tell."""
    (_, low, high), (_, own_low, own_high) = change, own
    below, above = high < own_low, low > own_high
    return int(above if higher else below) - int(below if higher else above)


def _spell_apart(apart: Sequence[int]) -> str:
    """What the intervals of other models say, of all of them or of some.

    >>> _spell_apart([-1]), _spell_apart([-1, -1]), _spell_apart([-1, 0])
    ('worse, the intervals do not overlap', 'all worse, no interval overlaps', '1 of 2 clearly worse, 0 better')
    """
    worse, better = apart.count(-1), apart.count(1)
    if not worse and not better:
        return "not clearly worse or better by their intervals"
    if len(apart) in (worse, better):
        said = "worse" if worse else "better"
        return f"{said}, the intervals do not overlap" if len(apart) == 1 else f"all {said}, no interval overlaps"
    return f"{worse} of {len(apart)} clearly worse, {better} better"


def _is_random(order: str) -> bool:
    return order.startswith("random")


def _first(budget: xr.Dataset) -> str:
    return str(budget["order"].values[0])


def _change(budget: xr.Dataset, order: str, step: int) -> Estimate:
    point = budget.sel(order=order).isel(step=step)
    return float(point["delta"]), float(point["low"]), float(point["high"])


def _allowed(budget: xr.Dataset, points: float) -> float:
    return tolerance_of(points, budget.attrs["metric"], float(budget["baseline"]))


def _points(budget: xr.Dataset, points: float) -> str:
    return f"{spell_points(points, budget.attrs['metric'])} of {budget.attrs['metric']}"


def _percent(share: object) -> str:
    return f"{100 * float(np.asarray(share)):.1f} %"
