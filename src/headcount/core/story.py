"""A sweep in plain sentences: the figures that a person asks for first, each with its interval."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.core.claims import LEVEL, significant


def tell_sweep(result: xr.Dataset) -> list[str]:
    """The sweep in plain sentences with its figures."""
    value = {name: float(result[name]) for name in result.data_vars if result[name].ndim == 0 and name != "best"}
    metric = result.attrs["metric"]
    what = {"layer": "layer", "sets": "set", "draws": "set"}.get(result.attrs["by"], "head")
    count = int(np.isfinite(result["q"].values).sum())
    base = f"{value['baseline']:.4f} [{value['baseline_low']:.4f}, {value['baseline_high']:.4f}]"
    mean = f"{value['mean_delta']:+.4f} [{value['mean_delta_low']:+.4f}, {value['mean_delta_high']:+.4f}]"
    chance = f"{value['above_chance']:.0f} [{value['above_chance_low']:.0f}, {value['above_chance_high']:.0f}]"
    honest = f"{value['honest_gain']:+.4f} ({value['honest_gain_low']:+.4f} to {value['honest_gain_high']:+.4f} in 95 %"
    sentences = [
        f"Baseline {metric} {base} on {result.sizes['example']} examples (95 % interval).",
        tell_effects(result, metric, what),
        f"Ablating a random {what} changes it by {mean}, p = {value['mean_delta_p']:.2g}.",
        f"{int(value['above'])} of {count} {what}s score above the baseline without them; {chance} would by chance.",
        f"The best {what} to ablate is {result['best'].values}: {value['naive_gain']:+.4f} on the examples that "  # noqa: ISC004
        f"selected it; selected on one half and evaluated on the other, {honest} of the splits).",
    ]
    if "loss_q" in result:
        sentences.insert(2, f"{tell_effects(result, 'the mean loss', what, 'loss_')} {tell_ranks(result, what)}")
    return sentences


def tell_ranks(result: xr.Dataset, what: str) -> str:
    """How many shift the losses of the examples in one direction, however little: Wilcoxon's signed ranks."""
    count = int(significant(result["loss_rank_q"].values).sum())
    shift = f"{count} {what}{' shifts' if count == 1 else 's shift'}" if count else f"No {what} shifts"
    return f"{shift} the losses in one direction (signed ranks, q < {LEVEL})."


def tell_effects(result: xr.Dataset, metric: str, what: str, prefix: str = "") -> str:
    """How many have a significant effect, and in which direction."""
    q, delta = result[f"{prefix}q"].values, result[f"{prefix}delta"].values
    higher = bool(result.attrs.get("higher_is_better", True)) and not prefix
    count, found = int(np.isfinite(q).sum()), significant(q)
    tested = f"(q < {LEVEL}, {count} {what}s tested)"
    if not found.any():
        return f"No {what} has a significant effect on {metric} {tested}."
    better = found & ((delta > 0) == higher)
    worse, total = int((found & ~better).sum()), int(found.sum())
    has = "has" if total == 1 else "have"
    plural = "" if total == 1 else "s"
    return (
        f"{total} {what}{plural} {has} a significant effect on {metric} {tested}: ablated, {worse} make it worse "
        f"and {total - worse} better."
    )
