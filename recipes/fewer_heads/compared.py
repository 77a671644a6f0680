"""Which order of heads keeps more of the score? Curves of several orders, and the paired differences between them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import headcount as hc
from headcount.core.heads import Head
from headcount.core.score_tables import Sums
from headcount.core.statistics import bootstrap
from headcount.data.tasks import Task
from recipes.evidence import ends

PER_STEP = ("score", "delta", "low", "high", "p")
RANDOM = "random"
"""Orders whose names begin so count together: their mean is the control."""


def removals(order: Sequence[Head], steps: int) -> dict[float, frozenset[Head]]:
    """The heads that are gone at each share of the order."""
    shares = [(step + 1) / steps for step in range(steps)]
    return {share: frozenset(order[: round(share * len(order))]) for share in shares}


def curves_compared(
    model: Any,
    tokenizer: Any,
    data: pd.DataFrame,
    orders: Mapping[str, Sequence[Head]],
    pairs: Sequence[tuple[str, str]],
    *,
    task: Task,
    steps: int,
    **options: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The curve of every order, the heads of each gone in equal shares, and the differences between pairs of orders.

    Heads are at zero. A pair may name `random`: the mean of all random orders. Differences come with 95 % intervals of
    the paired bootstrap: both orders see the same resampled examples.
    """
    gone = {name: removals(order, steps) for name, order in orders.items()}
    places: dict[frozenset[Head], int] = {}
    for one in gone.values():
        for heads in one.values():
            places.setdefault(heads, len(places))
    found = hc.sweep(
        model,
        tokenizer,
        data,
        task=task,
        by=[sorted(heads) for heads in places],
        how="zero",
        texts=False,
        **options,
    )
    curves = [
        {
            "order": name,
            "share": share,
            "removed": len(heads),
            "metric": found.attrs["metric"],
            "examples": found.sizes["example"],
            "baseline": float(found["baseline"]),
            "baseline_low": float(found["baseline_low"]),
            "baseline_high": float(found["baseline_high"]),
            **{key: float(found[key].values[places[heads]]) for key in PER_STEP},
        }
        for name, one in gone.items()
        for share, heads in one.items()
    ]
    table = scores_of(found, task)
    whole, drawn = table.scores(np.ones((1, table.examples))), bootstrap(table)

    def of(name: str, share: float, scores: np.ndarray) -> np.ndarray:
        members = [one for one in orders if one == name or (name == RANDOM and one.startswith(RANDOM))]
        return np.mean([scores[:, 1 + places[gone[one][share]]] for one in members], axis=0)

    differences = []
    for first, second in pairs:
        for share in gone[next(iter(gone))]:
            low, high = ends(of(first, share, drawn) - of(second, share, drawn))
            value = float((of(first, share, whole) - of(second, share, whole))[0])
            differences.append(
                {"first": first, "second": second, "share": share, "difference": value, "low": low, "high": high}
            )
    return pd.DataFrame(curves), pd.DataFrame(differences)


def scores_of(found: xr.Dataset, task: Task) -> Sums:
    """The score of the baseline and of every variant of a sweep, for any weights of the examples."""
    metric = task.kind.find_metric(found.attrs["metric"])
    stored = "texts" if "texts" in found else "logits"
    key = "predictions" if stored == "texts" else stored
    labels = found["label"].values
    labels = list(labels) if stored == "texts" else labels
    outputs = [found[f"baseline_{stored}"].values, *found[stored].values]
    if stored == "texts":
        outputs = [list(one) for one in outputs]
    return Sums(np.stack([metric.features({key: one}, labels) for one in outputs]), metric.combine, 2000)
