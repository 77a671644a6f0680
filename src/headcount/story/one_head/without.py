"""What happens without one head, or with it taken from another input: its effect in each sweep."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant
from headcount.core.heads import Head
from headcount.core.races import ERROR
from headcount.core.sweep_schemas import PARTS, inputs_of, spell_place
from headcount.story.names import interval_of, spell_estimate, spell_interval, spell_score
from headcount.story.one_head.fact import Fact, as_numbers, estimate_at, known, value_at
from headcount.story.patches import is_patched
from headcount.story.sweeps import REPLACED

SUBJECTS = {
    "head": "Without it",
    "layer": "Without all heads of its layer",
    "all-but-one": "With this head alone in its layer",
}
"""By what a sweep ablates at a time."""
TESTED = {"layer": "layers"}


def sweep_facts(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """The effect of a head, or of its layer, in a sweep; nothing for sweeps over sets."""
    by, result_name = str(result.attrs.get("by")), f"sweep/{name}"
    if by not in SUBJECTS or result.attrs.get("how") == "function-vector":
        return []
    if not known(value_at(result["delta"], head)):
        screened = "selected" in result and by == "head"
        why = "It was not run: the screening ranked other heads higher." if screened else ""
        return [Fact(why, result_name)] if why else []
    if is_patched(result):
        return _patch(result_name, result, head)
    if "decision" in result:
        return [_raced(result_name, result, head)]
    return [_effect(result_name, result, head), *_loss(result_name, result, head)]


def _effect(name: str, result: xr.Dataset, head: Head) -> Fact:
    attributes = result.attrs
    by, how, metric = (str(attributes[key]) for key in ("by", "how", "metric"))
    change = _change(result, head)
    q = value_at(result["q"], head)
    verdict = _verdict(change[0], q, bool(attributes.get("higher_is_better", True)), by == "all-but-one")
    replaced = REPLACED.get(how, how) if by == "head" else f"replacement: {how}"
    sentence = (
        f"{SUBJECTS[by]} ({replaced}), {metric} changes by {spell_interval(change, signed=True)} from "
        f"{spell_score(float(result['baseline']))} on {result.sizes['example']:,} examples: {verdict} "
        f"({_tested(result, q)})."
    )
    return Fact(sentence, name, as_numbers(change, baseline=float(result["baseline"]), q=q))


def _loss(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """The effect on the mean loss, which shows smaller effects than a score."""
    if "loss_q" not in result or result.attrs["by"] != "head":
        return []
    change, q = _change(result, head, "loss_"), value_at(result["loss_q"], head)
    verdict = _verdict(change[0], q, higher_is_better=False, alone=False)
    said = f"The mean loss changes by {spell_interval(change, signed=True)}: {verdict} (q = {q:.2g})."
    return [Fact(said, name, as_numbers(change, q=q))]


def _change(result: xr.Dataset, head: Head, prefix: str = "") -> tuple[float, float, float]:
    value, low, high = (value_at(result[f"{prefix}{key}"], head) for key in ("delta", "low", "high"))
    return value, low, high


def _verdict(delta: float, q: float, higher_is_better: bool, alone: bool) -> str:
    if not significant(np.array(q)):
        return "not significant"
    better = (delta > 0) == higher_is_better
    return f"significantly {'better' if better else 'worse'}{'' if alone else ' without it'}"


def _tested(result: xr.Dataset, q: float) -> str:
    count = int(np.isfinite(result["q"].values).sum())
    of = f" of {result.attrs['screen']['of']:,}" if "screen" in result.attrs else ""
    return f"q = {q:.2g}, {count:,}{of} {TESTED.get(str(result.attrs['by']), 'heads')} tested"


def _raced(name: str, result: xr.Dataset, head: Head) -> Fact:
    """What a race has decided about the head."""
    margin, metric = float(result.attrs["race"]["margin"]), result.attrs["metric"]
    change, run = _change(result, head), int(value_at(result["examples_run"], head))
    names = [str(each) for each in result["decision"].attrs["names"]]
    decision = names[int(value_at(result["decision"], head))]
    said = {
        "smaller": f"lowers {metric} by more than {margin:g}",
        "larger": f"raises {metric} by more than {margin:g}",
        "within": f"changes {metric} by no more than {margin:g}",
        "undecided": f"is undecided: {metric} may change by more than {margin:g} or not",
    }[decision]
    return Fact(
        f"Removing it {said} (a race, after {run:,} of {result.sizes['example']:,} examples; chance of a wrong "
        f"decision about {ERROR:.0%}).",
        name,
        as_numbers(change, examples=run, margin=margin) | {"decision": decision},
    )


def _patch(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """What a patch of the head, or of its layer, brings from the other input."""
    attributes = result.attrs
    metric, ran_given = str(attributes["metric"]), inputs_of(attributes["direction"])
    what = {"head": "its", "layer": "all outputs of its layer"}.get(str(attributes["by"]))
    if what is None:
        return []
    part = PARTS.get(attributes["part"], attributes["part"])
    of = f"{what} {part}" if what == "its" else what
    where = spell_place(str(attributes["positions"]))
    change, q = _change(result, head), value_at(result["q"], head)
    share = estimate_at(result, "share", head) if "share" in result else (float("nan"),) * 3
    shared = ""
    if known(share[0]):
        shared = f" ({spell_interval((share[0], share[1], share[2]), 2)} on a scale from 0, corrupted, to 1, clean)"
    verdict = "significant" if significant(np.array(q)) else "not significant"
    sentence = (
        f"On the {ran_given[0]} input with {of} from the {ran_given[1]} one{f' {where}' if where else ''}, {metric} "
        f"changes by {spell_interval(change, signed=True)}, where the inputs differ by "
        f"{spell_estimate(interval_of(result, 'difference'), True)}{shared}: {verdict} ({_tested(result, q)})."
    )
    return [Fact(sentence, name, as_numbers(change, q=q, share=share[0]))]


def position_facts(name: str, result: xr.Dataset, head: Head) -> list[Fact]:
    """At which single positions a patch of the head has a significant effect."""
    if not is_patched(result) or result.attrs.get("by") != "position":
        return []
    rows = []
    for index, position in enumerate(map(str, result["position"].values)):
        at = result.isel(position=index)
        rows.append((value_at(at["q"], head), value_at(at["delta"], head), position))
    rows = [row for row in rows if known(row[0])]
    if not rows:
        return []
    clear = [row for row in rows if significant(np.array(row[0]))]
    listed = ", ".join(f"{position} ({delta:+.3f})" for _, delta, position in sorted(clear, key=lambda r: -abs(r[1])))
    said = f"significant at {listed}" if clear else "significant nowhere"
    sentence = f"Patched at one position at a time: {said} (q < {LEVEL}, {len(rows)} positions)."
    return [Fact(sentence, f"sweep/{name}", {position: delta for _, delta, position in clear})]
