"""Whether the same heads matter in two sweeps: rank correlations of their effects."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import xarray as xr

from headcount.core.options import no_repeats
from headcount.core.statistics import rank_correlation
from headcount.core.sweep_schemas import OF_ANOTHER_INPUT


@dataclass(frozen=True)
class Agreement:
    """Spearman's correlation of the effects of `count` heads in two results, with a bootstrap interval."""

    first: str
    second: str
    stack: str
    count: int
    correlation: float
    low: float
    high: float


def agreement(*studies: str | Path | xr.DataTree) -> list[Agreement]:
    """The agreement of all pairs of complete sweeps over the same axes in these studies, in all and for each stack."""
    from headcount.core.read_study import open_study, study_path

    paths = [study_path(study) for study in studies]
    no_repeats("the studies", paths)
    results: dict[str, xr.DataArray] = {}
    for path in paths:
        for node in open_study(path).subtree:
            ablated = node.attrs.get("how") not in OF_ANOTHER_INPUT
            if "delta" in node.data_vars and node.attrs.get("complete") and ablated:
                name = node.path.strip("/")
                results[name if len(paths) == 1 else f"{path}:{name}"] = effects(node.to_dataset())
    pairs = []
    for (first, x), (second, y) in combinations(results.items(), 2):
        alike = x.dims == y.dims and x.shape == y.shape and "stack" in x.dims
        if alike and bool((x["stack"] == y["stack"]).all()):
            pairs += compare_effects(first, x, second, y)
    return pairs


def effects(sweep: xr.Dataset) -> xr.DataArray:
    """What the score loses without each head, layer or set: positive if it is needed, whatever the metric."""
    losses: xr.DataArray = lost(sweep["delta"].load(), bool(sweep.attrs.get("higher_is_better", True)))
    return losses


def lost(delta: Any, higher_is_better: bool) -> Any:
    """Changes of a score as losses, positive where the model got worse."""
    return -delta if higher_is_better else delta


def compare_effects(first: str, x: xr.DataArray, second: str, y: xr.DataArray) -> list[Agreement]:
    """The agreement of two arrays of effects: of all heads and, if there are several stacks, of each of them."""
    stacks = [str(stack) for stack in x["stack"].values]
    parts = [("all", x, y)] + [(stack, x.sel(stack=stack), y.sel(stack=stack)) for stack in stacks if len(stacks) > 1]
    return [
        Agreement(
            f"{first} ({stack})" if len(stacks) > 1 else first,
            second,
            stack,
            int((a.notnull() & b.notnull()).sum()),
            *rank_correlation(a.values.ravel(), b.values.ravel()),
        )
        for stack, a, b in parts
        if int((a.notnull() & b.notnull()).sum()) >= 3
    ]
