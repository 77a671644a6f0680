"""The estimators of importance: what each is, what follows from the means over the examples, how far to trust it."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from headcount.choosing.bundles import Bundles
from headcount.core.agreement import effects
from headcount.core.heads import Layout
from headcount.core.results import HEAD_DIMS, UNIT_DIMS, Labelled, with_interval
from headcount.core.schema import Schema, with_schemas
from headcount.core.statistics import mean_interval, rank_correlation
from headcount.core.sweep_schemas import ABLATED
from headcount.engines.run import Arrays
from headcount.measures.results import mean_values

ESTIMATORS = ("michel", "gate", "taylor", "fisher", "norm")
UNIT_ESTIMATORS = ("unit_fisher", "unit_michel", "unit_taylor")
"""Those of feed-forward units."""
NORMED = ("michel", "gate", "norm")
"""Those that can be divided by the l2 norm of their layer, as Michel's is in the paper."""
CHOICES = (*ESTIMATORS, *(f"{name}_normed" for name in NORMED))
PAPER = "Michel 2019, section 4.1"
FISHER_PAPER = "Kwon 2022, section 4.1"
SCHEMAS = {
    name: Schema(
        title,
        unit,
        direction,
        (None if name == "taylor" else 0, None),
        signed=name == "taylor",
        category=ABLATED,
        paper=FISHER_PAPER if name == "fisher" else PAPER,
        rank=rank,
        shown=rank < 6,
        main=name == "michel",
    )
    for rank, (name, title, unit, direction) in enumerate(
        (
            ("michel", "Importance", "mean |slope of the loss|", "high: the loss depends on it"),
            ("michel_normed", "Importance, by layer", "1: all of its layer", "high: the loss depends on it"),
            ("taylor", "Expected rise of the loss without it", "loss", "above 0: the head is needed"),
            ("gate", "Importance, signs cancelling", "|mean slope|", "high: the loss depends on it"),
            ("norm", "Length of its output (importance)", "length", "high: says much"),
            ("gate_normed", "Importance, signs cancelling, by layer", "1: all", "high: needed"),
            ("norm_normed", "Length of its output, by layer", "1: all of its layer", "high: says much"),
            ("fisher", "Fisher information of its gate", "mean slope squared", "high: the loss depends on it"),
        ),
        start=1,
    )
}
UNIT_SCHEMAS = {
    name: Schema(title, unit, direction, limits, signed=signed, paper=paper, rank=rank, shown=False)
    for rank, (name, title, unit, direction, limits, signed, paper) in enumerate(
        (
            (
                "unit_fisher",
                "Fisher information of the unit's gate",
                "mean slope squared",
                "high: the loss depends on it",
                (0, None),
                False,
                FISHER_PAPER,
            ),
            (
                "unit_michel",
                "Importance of the unit",
                "mean |slope of the loss|",
                "high: the loss depends on it",
                (0, None),
                False,
                PAPER,
            ),
            (
                "unit_taylor",
                "Expected rise of the loss without the unit",
                "loss",
                "above 0: the unit is needed",
                (None, None),
                True,
                "Molchanov 2019",
            ),
        ),
        start=1,
    )
}
VARIABLES: dict[str, tuple[str, ...]] = {"michel": (), "taylor": (), "norm": ()}
"""`michel`: E|dL/dgate| over examples (the paper's I_h). `taylor`: -E dL/dgate, the rise of the loss that the first
order predicts for the head's removal, with its sign. `norm`: the mean length of what the head gives. From these follow
`gate`: |E dL/dgate|, blind to heads whose examples disagree, `fisher`: E (dL/dgate)^2, and `..._normed`: divided by the
l2 norm of the layer."""
SAID = {
    "group": "pruning",
    "measure": "importance",
    "summary": "how much the loss hangs on the head: michel, taylor (signed), gate, fisher, norm",
    "paper": PAPER,
}


def summarise_importance(seed: int, values: Arrays) -> Labelled:
    """Means with intervals over the examples, and what follows from the means: of heads, units, or both."""
    arrays: dict[str, tuple[Any, ...]] = {}
    if "values_taylor" in values:
        arrays |= mean_values(VARIABLES, values, seed)
        arrays |= with_interval("fisher", HEAD_DIMS, mean_interval(values["values_taylor"] ** 2, seed=seed))
        derived = derive({key: arrays[key][1] for key in VARIABLES})
        arrays |= {name: (HEAD_DIMS, array) for name, array in derived.items()}
    if "values_unit_taylor" in values:
        slopes = values["values_unit_taylor"]
        arrays |= with_interval("unit_fisher", UNIT_DIMS, mean_interval(slopes**2, seed=seed))
        arrays["unit_michel"] = (UNIT_DIMS, np.abs(slopes).mean(0, dtype=float))
        arrays["unit_taylor"] = (UNIT_DIMS, slopes.mean(0, dtype=float))
    return with_schemas(arrays, SCHEMAS | UNIT_SCHEMAS)


def derive(means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What follows from the means: `gate`, and the estimates divided by the l2 norm of their layer."""
    derived = {"gate": np.abs(means["taylor"])}
    for name in NORMED:
        values = (means | derived)[name]
        length = np.sqrt(np.nansum(values**2, axis=-1, keepdims=True))
        derived[f"{name}_normed"] = values / np.where(length > 0, length, 1)
    return derived


def estimate(estimated: xr.Dataset, name: str, rows: np.ndarray | None = None) -> np.ndarray:
    """[stack, layer, head], or [stack, layer, unit]: an estimator's values, over all examples or over some of them."""
    if rows is None:
        values: np.ndarray = estimated[name].values
        return values
    if name in UNIT_ESTIMATORS:
        slopes = estimated["values_unit_taylor"].values[rows]
        means = {"unit_fisher": np.square, "unit_michel": np.abs, "unit_taylor": np.positive}
        found: np.ndarray = means[name](slopes).mean(0)
        return found
    means_of_heads = {key: estimated[f"values_{key}"].values[rows].mean(0) for key in VARIABLES}
    means_of_heads["fisher"] = np.square(estimated["values_taylor"].values[rows]).mean(0)
    chosen: np.ndarray = (means_of_heads | derive(means_of_heads))[name]
    return chosen


def estimate_bundles(estimated: xr.Dataset, name: str, bundles: Bundles, layout: Layout) -> np.ndarray:
    """[stack, layer, head]: an estimator's values for what goes together, the same for all heads of a bundle.

    A bundle has one gate for all of its heads. The slope of an example's loss in that gate is the sum of the slopes in
    the heads' own gates, with their signs: heads that cancel each other out can go together.
    """
    if bundles.by == "head":
        return estimate(estimated, name)
    slopes = bundles.pooled(estimated["values_taylor"].values, layout)
    means = {
        "michel": np.abs(slopes).mean(0),
        "taylor": slopes.mean(0),
        "fisher": np.square(slopes).mean(0),
        "norm": bundles.pooled(estimated["values_norm"].values, layout).mean(0),
    }
    chosen: np.ndarray = (means | derive(means))[name]
    return chosen


def stability(estimated: xr.Dataset, name: str, splits: int = 50, seed: int = 0) -> tuple[float, float, float]:
    """Spearman's correlation of an estimator on two random halves of the examples: mean and 95 % of the halves."""
    examples = estimated.sizes["example"]
    if examples < 2:  # there are no halves
        return float("nan"), float("nan"), float("nan")
    generator = np.random.default_rng(seed)
    seen = []
    for _ in range(splits):
        order = generator.permutation(examples)
        halves = [estimate(estimated, name, order[: examples // 2]), estimate(estimated, name, order[examples // 2 :])]
        seen.append(rank_correlation(halves[0].ravel(), halves[1].ravel(), draws=1)[0])
    return float(np.mean(seen)), float(np.quantile(seen, 0.025)), float(np.quantile(seen, 0.975))


def prediction(estimated: xr.Dataset, sweep: xr.Dataset, name: str) -> tuple[float, float, float]:
    """How well an estimator foretells the true effect of ablation: Spearman's correlation over the heads, interval.

    The effect is the score that a head's removal costs: positive where the head is needed.
    """
    return rank_correlation(estimated[name].values.ravel(), effects(sweep).values.ravel())
