"""Budgets with planted numbers, as the verb that chooses heads and units keeps them in a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headcount.core.budget_schemas import HALVES, budget_schemas
from headcount.core.proportions import tango_interval
from headcount.core.schema import with_schemas
from headcount.engines.run import group_name
from tests.study_results import write_result

NAN = float("nan")
STEPS = (0.8, 0.65, 0.5, 0.35)
BASELINE = 0.9
ENDS = ("low", "high", "bound_low", "bound_high")
WHOLE = {"encoder": ((4, 4, 4), (32, 32, 32))}
"""By stack, the heads and the units of each layer; None where there is no such block."""
SEQ2SEQ: dict[str, tuple[Sequence[int | None], Sequence[int | None]]] = {
    "encoder": ((4, 4, 4), (32, 32, 32)),
    "decoder": ((4, 4, None), (48, 48, None)),
    "cross": ((4, 4, None), (None, None, None)),
}
Lost = Mapping[str, Sequence[int | None]]


def budget_dataset(
    lost: Lost,
    examples: int,
    *,
    won: int = 10,
    whole: Mapping[str, tuple[Sequence[int | None], Sequence[int | None]]] = WHOLE,
    tilt: float = 0.0,
    speeds: bool = True,
    chosen: int | None = 2,
    **attributes: Any,
) -> xr.Dataset:
    """By order, how many examples become wrong at each step, `won` become right; None where there is no such step.

    `tilt`: how much more is left of the last layer than of the first, as a share.
    """
    shape = (len(lost), len(STEPS))
    gone = np.array([[NAN if one is None else one for one in row] for row in lost.values()], dtype=float)
    there = np.isfinite(gone)
    worse = np.where(there, gone, 0)
    ends = [*_interval(worse, won, examples, 0.95), *_interval(worse, won, examples, 0.9)]
    delta = (won - gone) / examples
    operations = np.where(there, np.array(STEPS) - 0.004, NAN)
    speed = np.where(there, 1 / np.array(STEPS), NAN) if speeds else np.full(shape, NAN)
    per_step = {
        "operations": operations,
        "weights": operations + 0.05,
        "speed": speed,
        "speed_low": 0.97 * speed,
        "speed_high": 1.03 * speed,
        "score": BASELINE + delta,
        "delta": delta,
        **{name: np.where(there, end, NAN) for name, end in zip(ENDS, ends, strict=True)},
        "p": np.where(there, 0.5, NAN),
    }
    heads, units = (
        np.array([[NAN if one is None else one for one in stack[kind]] for stack in whole.values()], dtype=float)
        for kind in (0, 1)
    )
    kept_by_layer = 1 + tilt * np.linspace(-0.5, 0.5, heads.shape[1])
    left = np.minimum(1, np.array(STEPS)[None, :, None, None] * np.ones((len(lost), 1, 1, 1)) * kept_by_layer)
    heads_only = np.array([name == "heads only" for name in lost])[:, None, None, None]
    arrays: dict[str, tuple[Any, ...]] = {name: (("order", "step"), values) for name, values in per_step.items()}
    arrays |= {
        "heads_left": (("order", "step", "stack", "layer"), np.floor(left * heads)),
        "units_left": (("order", "step", "stack", "layer"), np.where(heads_only, 1, left) * units // 1),
        "heads_whole": (("stack", "layer"), heads),
        "units_whole": (("stack", "layer"), units),
        "parts": (("order", "step"), np.full(shape, "L0H1, L1U0-7", dtype=object)),
        "baseline": ((), BASELINE),
        "baseline_low": ((), BASELINE - 0.02),
        "baseline_high": ((), BASELINE + 0.02),
        "order": (("order",), np.array(list(lost), dtype=object)),
        "step": (("step",), np.array(STEPS)),
        "stack": (("stack",), np.array(list(whole), dtype=object)),
        "layer": (("layer",), np.arange(heads.shape[1])),
    }
    said = {"task": "sst2", "metric": "accuracy", "higher_is_better": True, "examples": examples, "data": "sst2.tsv"}
    said |= {"model": "models/tuned", "what": "both", "refit": True, "budget": "operations=50%", "batch": 16}
    said |= {"length": 128, "currency": "operations"} | ({} if chosen is None else {"chosen": chosen})
    return xr.Dataset(with_schemas(arrays, budget_schemas("accuracy", True)), attrs=said | attributes)


def _interval(lost: np.ndarray, won: int, examples: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = tango_interval(lost.ravel(), np.full(lost.size, won), examples, confidence)
    return low.reshape(lost.shape), high.reshape(lost.shape)


CONFIRMED = {
    "both": (12, 15, 20, 600),
    "heads only": (40, 300, None, None),
    "random 0": (300, 900, 1500, 2000),
    "random 1": (360, 1000, 1600, 2100),
}
"""Of 10,000 examples: half of the operations for a tenth of a point; heads only stop before, random parts lose more."""


def as_loss(budget: xr.Dataset) -> xr.Dataset:
    """The same evidence for a loss: every change turned round."""
    ends = {"delta": "delta", "low": "high", "high": "low", "bound_low": "bound_high", "bound_high": "bound_low"}
    turned = {name: -budget[other] for name, other in ends.items()}
    turned["score"] = float(budget["baseline"]) + turned["delta"]
    return budget.assign(turned).assign_attrs(metric="loss", higher_is_better=False)


def write_budget(path: Path, choosing: xr.Dataset, confirming: xr.Dataset, name: str = "prune") -> Path:
    for half, dataset in zip(HALVES, (choosing, confirming), strict=True):
        write_result(path, group_name("pruning/budget", f"{name}-{half}"), {}, dataset)
    return path
