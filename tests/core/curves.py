"""Curves with known numbers, as `pruning.curves.curve` gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headcount.core.proportions import tango_interval


def accuracy_curve(lost: Sequence[int], won: Sequence[int], examples: int, randoms: int = 1) -> xr.Dataset:
    """Steps of 10 heads of 60 whose examples became wrong or right; random orders lose twice as many."""
    orders = {"importance": np.array(lost)} | {f"random {n}": 2 * np.array(lost) for n in range(randoms)}
    names = ("low", "high", "bound_low", "bound_high")
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in ("delta", "score", *names)}
    for gone in orders.values():
        ends = [
            *tango_interval(gone, np.array(won), examples, 0.95),
            *tango_interval(gone, np.array(won), examples, 0.9),
        ]
        delta = (np.array(won) - gone) / examples
        for name, values in zip(arrays, (delta, 0.8 + delta, *ends), strict=True):
            arrays[name].append(values)
    return xr.Dataset(
        {name: (("order", "removed"), np.stack(values)) for name, values in arrays.items()} | {"baseline": ((), 0.8)},
        coords={"order": list(orders), "removed": [10 * (step + 1) for step in range(len(lost))]},
        attrs={"metric": "accuracy", "higher_is_better": True, "examples": examples, "heads": 60},
    )


def as_loss(curve: xr.Dataset) -> xr.Dataset:
    """The same evidence for a loss: every change turned round."""
    ends = {"delta": "delta", "low": "high", "high": "low", "bound_low": "bound_high", "bound_high": "bound_low"}
    turned = {name: -curve[other] for name, other in ends.items()}
    return curve.assign(turned).assign_attrs(metric="loss", higher_is_better=False)
