"""Does a finding hold? One rule for all recipes: a number, its interval, and the side of a bound where it must lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from headcount.core.statistics import mean_interval

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable"
DRAWS = 2000
Estimate = tuple[float, float, float]
"""A number and the ends of its 95 % interval."""


def verdict(low: float, high: float, bound: float = 0.0, side: str = "above") -> str:
    """Of a finding "the number lies above (or below) the bound", from the number's 95 % interval.

    `holds`: the whole interval lies on the finding's side. `does not hold`: the whole interval lies on the other side.
    Everything else, an unknown end included, is `not decidable`.

    >>> verdict(0.2, 0.9), verdict(-0.9, -0.2), verdict(-0.1, 0.9), verdict(-0.9, -0.2, side="below")
    ('holds', 'does not hold', 'not decidable', 'holds')
    """
    above, below = low > bound, high < bound
    if side == "below":
        above, below = below, above
    return HOLDS if above else FAILS if below else OPEN


def resampled(values: np.ndarray, statistic: Callable[[np.ndarray], float], seed: int = 0) -> Estimate:
    """A statistic of the means of values [text, k], with a 95 % bootstrap interval over the texts; NaN is left out.

    `statistic` takes the k means.
    """
    known = np.isfinite(values)
    filled = np.where(known, values, 0.0)
    count = len(values)
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), DRAWS).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (weights @ filled) / (weights @ known)
        whole = filled.sum(0) / known.sum(0)
    drawn = np.array([statistic(row) for row in means])
    return float(statistic(whole)), *ends(drawn)


def ends(drawn: np.ndarray) -> tuple[float, float]:
    """Of the 95 % interval of resampled numbers; unknown where none of them is known."""
    low, high = np.quantile(drawn[np.isfinite(drawn)], [0.025, 0.975]) if np.isfinite(drawn).any() else [np.nan] * 2
    return float(low), float(high)


def lead(values: np.ndarray, members: Iterable[int], least: bool = False) -> Estimate:
    """By how much the `members` of k things are ahead of all others, from values [text, k], with its interval.

    The smallest mean of the members minus the largest mean of the others: above 0, every member is ahead of every
    other. `least`: ahead is below.
    """
    inside = np.zeros(values.shape[1], dtype=bool)
    inside[list(members)] = True
    sign = -1.0 if least else 1.0
    # A kind that no text of a resample has is ahead of nothing; a member without texts leaves the question open.
    return resampled(
        sign * values,
        lambda means: float(np.min(means[inside]) - np.max(np.nan_to_num(means[~inside], nan=-np.inf))),
    )


def correlation(first: np.ndarray, second: np.ndarray, seed: int = 0) -> Estimate:
    """Pearson's correlation of two lists of effects, with a bootstrap interval over their entries (the heads)."""
    known = np.isfinite(first) & np.isfinite(second)
    both = np.stack([first[known], second[known]])
    rows = np.random.default_rng(seed).integers(0, both.shape[1], (DRAWS, both.shape[1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.array([np.corrcoef(both[:, row])[0, 1] for row in rows])
        return float(np.corrcoef(both)[0, 1]), *ends(drawn)


def layer_values(dataset: xr.Dataset, name: str, stack: str = "encoder") -> np.ndarray:
    """The means over the heads of a layer [text, layer, ...] of a measure's variable."""
    values: np.ndarray = dataset[f"values_{name}"].sel(stack=stack).mean("head").values
    return values


def by_layer(dataset: xr.Dataset) -> pd.DataFrame:
    """Every variable of a measure: means over the heads of a layer, and over all heads (`layer` -1), with intervals."""
    rows = []
    for key in dataset.data_vars:
        name = str(key).removeprefix("values_")
        if not str(key).startswith("values_"):
            continue
        array = dataset[key].mean("head")
        for stack in array["stack"].values:
            one = array.sel(stack=stack)
            further = [str(dim) for dim in one.dims if dim not in ("example", "layer")]
            labels = [str(place) for place in one[further[0]].values] if further else [""]
            layers = one.transpose("example", "layer", *further).values.reshape(len(one["example"]), -1, len(labels))
            known = np.concatenate([layers, layers.mean(1, keepdims=True)], 1)
            mean, low, high = mean_interval(known)
            for layer, label in np.ndindex(*mean.shape):
                rows.append(
                    {
                        "variable": name,
                        "kind": labels[label],
                        "stack": stack,
                        "layer": layer if layer < mean.shape[0] - 1 else -1,
                        "mean": mean[layer, label],
                        "low": low[layer, label],
                        "high": high[layer, label],
                    }
                )
    return pd.DataFrame(rows)


def claim(what: str, found: Estimate, bound: float = 0.0, side: str = "above", **names: object) -> dict[str, object]:
    """A row for a table of findings: the statement's number, its interval, its bound and what follows."""
    value, low, high = found
    return {
        "finding": what,
        **names,
        "value": value,
        "low": low,
        "high": high,
        "side": side,
        "bound": bound,
        "verdict": verdict(low, high, bound, side),
    }


class Parts:
    """Tables that are written part by part, so that a run that was killed goes on with the first part that is missing.

    A part is a folder with its tables; the tables of all parts are joined in the folder above.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        out.mkdir(parents=True, exist_ok=True)

    def done(self, part: str) -> bool:
        return (self.out / "parts" / part / "done").exists()

    def save(self, part: str, tables: dict[str, list[pd.DataFrame]]) -> None:
        folder = self.out / "parts" / part
        folder.mkdir(parents=True, exist_ok=True)
        for name, some in tables.items():
            pd.concat(some).to_csv(folder / f"{name}.csv", index=False)
        (folder / "done").touch()
        for name in tables:
            self.join(name)

    def join(self, name: str) -> None:
        files = sorted(self.out.glob(f"parts/*/{name}.csv"), key=lambda one: one.stat().st_mtime)
        pd.concat([pd.read_csv(one) for one in files if (one.parent / "done").exists()]).to_csv(
            self.out / f"{name}.csv", index=False
        )
