"""A sweep in sentences: the numbers that a user asks for first, each with its interval."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.core.statistics import false_discovery
from headcount.story.estimates import estimate_sentences
from headcount.story.names import digits_for, interval_of, spell_estimate, spell_interval, spell_layer
from headcount.story.patches import patch_sentences

REPLACED = {
    "uniform": "its attention is uniform",
    "zero": "its output is 0",
    "mean": "its output is its mean",
    "patch": "it is that of the other input",
    "resample": "its output is that on another example",
    "function-vector": "its output at the last token is its mean after clean examples",
}
"""What an ablated head does, for each replacement."""
WHAT = {"layer": "layer", "sets": "set", "draws": "set"}
"""What is left out at a time, if not a head."""


def sweep_sentences(result: xr.Dataset) -> list[str]:
    """The findings of a sweep in sentences."""
    if "decision" in result:
        return race_sentences(result)
    if "difference" in result:
        return [*patch_sentences(result), *missed_sentences(result)]
    value = {name: float(result[name]) for name in result.data_vars if result[name].ndim == 0 and name != "best"}

    def figure(name: str, signed: bool = False) -> str:
        return spell_estimate((value[name], value[f"{name}_low"], value[f"{name}_high"]), signed)

    metric = result.attrs["metric"]
    what = WHAT.get(result.attrs["by"], "head")
    count = int(np.isfinite(result["q"].values).sum())
    by_chance = spell_interval(interval_of(result, "above_chance"), 0)
    gains = [value[name] for name in ("honest_gain", "honest_gain_low", "honest_gain_high")]
    digits = digits_for(*gains[1:])
    mean, low, high = (f"{gain:+.{digits}f}" for gain in gains)
    sentences = [
        f"Baseline {metric} {figure('baseline')} on {result.sizes['example']} examples (95 % interval).",
        effects_sentence(result, metric, what),
        f"{int(value['above'])} of {count} {what}s score above the baseline without them; {by_chance} "  # noqa: ISC004
        "would by chance.",
        f"The best {what} to ablate is {result['best'].values}: {value['naive_gain']:+.{digits}f} on the "  # noqa: ISC004
        f"examples that selected it; selected on one half and evaluated on the other, {mean} ({low} to {high} in 95 % "
        "of the splits).",
    ]
    if "mean_delta" in value:
        random = f"{figure('mean_delta', signed=True)}, p = {value['mean_delta_p']:.2g}"
        sentences.insert(2, f"Ablating a random {what} changes it by {random}.")
    if "loss_q" in result:
        loss = effects_sentence(result, "the mean loss", what, "loss_")
        sentences.insert(2, f"{loss} {ranks_sentence(result, what)}")
    return [*sentences, *missed_sentences(result)]


def race_sentences(result: xr.Dataset) -> list[str]:
    """What a race has decided, how sure that is, and what it saved."""
    metric, race = result.attrs["metric"], result.attrs["race"]
    what, examples = WHAT.get(result.attrs["by"], "head"), result.sizes["example"]
    codes, runs = (result[name].values[np.isfinite(result[name].values)] for name in ("decision", "examples_run"))
    counts = {name: int((codes == code).sum()) for code, name in enumerate(result["decision"].attrs["names"])}
    parts = [f"{counts['smaller']} lower it by more", f"{counts['larger']} raise it by more"]
    parts += [f"{counts['undecided']} are undecided"] if counts["undecided"] else []
    question = f"Does {metric} on all {examples:,} examples change by more than {race['margin']:g} without a {what}?"
    saved, error = (f"{100 * share:.0f} %" for share in (float(result["passes_saved"]), race["error"]))
    limit = "at most" if result.attrs["test"] == "mcnemar" else "about"  # exact for counts, approximate for losses
    settled = f"half of the {what}s were settled after {np.median(runs):,.0f} examples"
    settled += f", {int((runs == examples).sum()):,} needed all"
    return [
        f"Baseline {metric} {spell_estimate(interval_of(result, 'baseline'))} (95 % interval).",
        f"{question} Of {len(codes):,} {what}s, {', '.join(parts)}, and {counts['within']} stay within.",
        f"For each {what} the chance of a wrong decision is {limit} {error}.",
        f"The race saved {saved} of the passes of a full sweep: {settled}.",
        effects_sentence(result, metric, what),
    ]


def missed_sentences(result: xr.Dataset, what: str = "head", verb: str = "change") -> list[str]:
    """Which heads or pairs were screened, what may have been missed, and how good the estimate was."""
    return [*_missed(result, what, verb), *estimate_sentences(result)]


def _missed(result: xr.Dataset, what: str, verb: str) -> list[str]:
    """Which heads or pairs were screened, and how many of those that were not run may have an effect, or interact."""
    screen = result.attrs.get("screen")
    if screen is None:
        return []
    top, control, rest = screen["top"], screen["control"], screen["of"] - screen["top"] - screen["control"]
    ran = f"{top:,} of {screen['of']:,} {what}s were run because they rank highest by {screen['estimate']}"
    if not control:
        return [f"{ran}; nothing is known about the other {rest:,}, since there was no control."]
    sentences = [f"{ran}, and {control:,} other{'s' if control > 1 else ''}, drawn at random, as a control."]
    beyond, most = int(result["missed_control"]), int(result["missed_high"])
    effect, preposition = ("effect", "") if what == "head" else ("interaction", "in ")
    size = f"{preposition}{result.attrs['metric']} by more than {float(result['missed_effect']):.2g}"
    which = f"smallest significant {effect}" if _any_significant(result) else "median"
    changed = f"{beyond or 'None'} of the {control:,} {verb}{'' if beyond > 1 else 's'} {size}"
    changed += f", the {which} of the {top:,}"
    if not rest:
        return [*sentences, f"{changed}; no {what} is left that was not run."]
    return [*sentences, f"{changed}; at most {most:,} of the {rest:,} {what}s that were not run do (95 % confidence)."]


def _any_significant(result: xr.Dataset) -> bool:
    """Whether any of the top heads or pairs of a screening has a significant effect by their own tests."""
    top = result["selected"].values == 1
    return bool(significant(false_discovery(result["p"].values[top], result.attrs["screen"]["of"])).any())


def ranks_sentence(result: xr.Dataset, what: str) -> str:
    """How many heads, layers or sets shift the losses in one direction: Wilcoxon's signed-rank test."""
    count = int(significant(result["loss_rank_q"].values).sum())
    shift = f"{count} {what}{' shifts' if count == 1 else 's shift'}" if count else f"No {what} shifts"
    return f"{shift} the losses in one direction (signed ranks, q < {LEVEL})."


def effects_sentence(result: xr.Dataset, metric: str, what: str, prefix: str = "") -> str:
    """How many heads, layers or sets have a significant effect, and in which direction."""
    q, delta = result[f"{prefix}q"].values, result[f"{prefix}delta"].values
    higher = bool(result.attrs.get("higher_is_better", True)) and not prefix
    count, effective = int(np.isfinite(q).sum()), significant(q)
    tested = f"(q < {LEVEL}, {count} {what}s tested{_among(result)})"
    if not effective.any():
        return f"No {what} has a significant effect on {metric} {tested}."
    better = effective & ((delta > 0) == higher)
    worse, total = int((effective & ~better).sum()), int(effective.sum())
    if total == 1:
        return f"1 {what} has a significant effect on {metric} {tested}: {'worse' if worse else 'better'} without it."
    return (
        f"{total} {what}s have a significant effect on {metric} {tested}: worse without {worse} of them, better "
        f"without {total - worse}."
    )


def _among(result: xr.Dataset) -> str:
    """Of how many heads a screening has tested some: q is corrected for all of them."""
    return f" of {result.attrs['screen']['of']:,}" if "screen" in result.attrs else ""


def uncertainty_sentences(result: xr.Dataset) -> list[str]:
    """How wide the intervals of heads without a significant effect are."""
    if "decision" in result:
        return []  # a race says which changes are within its margin
    q = result["q"].values.ravel()
    unsure = np.isfinite(q) & ~significant(q)
    if not unsure.any():
        return []
    wide = float((result["high"] - result["low"]).values.ravel()[unsure].mean())
    return [
        f"No significant effect is not proof of no effect: with {result.sizes['example']} examples the intervals "  # noqa: ISC004
        f"of {int(unsure.sum())} heads are {wide:.2g} wide on average."
    ]


def worst_layer_sentence(result: xr.Dataset, stacked: bool) -> str:
    """The layer without whose heads the score suffers most."""
    sign = 1 if result.attrs.get("higher_is_better", True) else -1
    delta = sign * result["delta"].values
    index = np.unravel_index(int(np.nanargmin(delta)), delta.shape)
    change, low, high, q = (float(result[name].values[index]) for name in ("delta", "low", "high", "q"))
    changed = f"it changes by {spell_estimate((change, low, high), signed=True)}"
    layer = spell_layer(result, index, stacked)
    if significant(np.array(q)):
        return f"Without the heads of {layer} {result.attrs['metric']} suffers most: {changed} (q = {q:.2g})."
    return (
        f"No layer has a significant effect on {result.attrs['metric']}; the largest is that of {layer}, without whose "
        f"heads {changed} (q = {q:.2g})."
    )
