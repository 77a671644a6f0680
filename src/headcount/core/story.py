"""A sweep in plain sentences: the figures that a person asks for first, each with its interval."""

from __future__ import annotations

import numpy as np
import xarray as xr


def tell_sweep(result: xr.Dataset, higher_is_better: bool = True) -> list[str]:
    """The sweep in plain sentences with its figures."""
    value = {name: float(result[name]) for name in result.data_vars if result[name].ndim == 0 and name != "best"}
    metric, what = (
        result.attrs["metric"],
        {"layer": "layer", "sets": "set", "draws": "set"}.get(result.attrs["by"], "head"),
    )
    q = result["q"].values.ravel()
    delta = result["delta"].values.ravel()
    known = np.isfinite(q)
    sure = known & (q < 0.05)
    better = sure & ((delta > 0) == higher_is_better)
    count = int(known.sum())
    base = f"{value['baseline']:.4f} [{value['baseline_low']:.4f}, {value['baseline_high']:.4f}]"
    mean = f"{value['mean_delta']:+.4f} [{value['mean_delta_low']:+.4f}, {value['mean_delta_high']:+.4f}]"
    chance = f"{value['above_chance']:.0f} [{value['above_chance_low']:.0f}, {value['above_chance_high']:.0f}]"
    honest = f"{value['honest_gain']:+.4f} [{value['honest_gain_low']:+.4f}, {value['honest_gain_high']:+.4f}]"
    needed, hurt = int((sure & ~better).sum()), int(better.sum())
    best = str(result["best"].values)
    return [
        f"Baseline {metric} {base} on {result.sizes['example']} examples.",
        f"{needed + hurt} of {count} {what}s change the score for sure (q < 0.05): {needed} are needed, {hurt} hurt.",
        f"A random {what} left out changes it by {mean}, p = {value['mean_delta_p']:.2g}.",
        f"{int(value['above'])} of {count} score better than the baseline; chance alone gives {chance}.",
        f"Without {best} the gain is {value['naive_gain']:+.4f} on the examples that chose it; "  # noqa: ISC004
        f"chosen on one half of them and scored on the other it is {honest}.",
    ]
