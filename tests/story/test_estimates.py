"""What is said of an estimate beside what it estimates."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headcount.story.estimates import estimate_sentences

DIMS = ("stack", "layer", "head")


def result(failed: list[float], control: float = 0.5) -> xr.Dataset:
    estimated, exact = np.array([0.01, 2.0, 0.5, -0.4, 0.3]), np.array([1.0, 0.2, 0.5, 0.4, 0.3])
    heads = {"estimated": estimated, "delta": exact, "estimate_error": exact - estimated, "estimate_failed": failed}
    whole = {"estimate_correlation": 0.8, "estimate_correlation_low": 0.6, "estimate_correlation_high": 0.9}
    whole |= {"control_correlation": control, "control_correlation_low": control, "control_correlation_high": control}
    found = xr.Dataset(
        {name: (DIMS, np.array(values).reshape(1, 1, 5)) for name, values in heads.items()} | whole,
        coords={"stack": ["decoder"], "layer": [3], "head": range(5)},
        attrs={"screen": {"control": 2}},
    )
    found["estimate_failed"].attrs["names"] = ["near", "too small", "too large", "wrong sign"]
    return found


def test_nothing_without_an_estimate() -> None:
    assert estimate_sentences(xr.Dataset()) == []


def test_the_worst_are_named_first() -> None:
    agreement, failures = estimate_sentences(result([1, 2, 0, 3, 0]))
    assert agreement == (
        "Rank correlation of attribution and exact patching: 0.80 [0.60, 0.90] over the 5 heads that were run, "
        "0.50 [0.50, 0.50] over the 2 of the control (95 % intervals over heads)."
    )
    assert failures == (
        "Attribution is off by more than half (q < 0.05) for 3 of the 5 (1 too small, 1 too large, 1 wrong sign); "
        "all of them: L3H1 +2.000 instead of +0.200; L3H0 +0.010 instead of +1.000, a saturated head; "
        "L3H3 -0.400 instead of +0.400."
    )


def test_no_failure_and_no_control() -> None:
    agreement, failures = estimate_sentences(result([0] * 5, float("nan")))
    assert "control" not in agreement
    assert failures == "Attribution is off by more than half (q < 0.05) for none of them."


def test_other_examples() -> None:
    assert "other examples" in estimate_sentences(result([0] * 5).drop_vars("estimate_failed"))[1]
