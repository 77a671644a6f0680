"""What trackers get of a measurement: numbers of the whole model, of its layers and of its heads, by name."""

from __future__ import annotations

import numpy as np

from headcount.choosing.training_measurement import Measurement
from headcount.choosing.training_rows import Row
from headcount.core.heads import Layout
from headcount.core.statistics import rank_correlation

LOGS = ("summary", "layers", "heads", "nothing")


def scalars(measurement: Measurement, row: Row, before: Row | None, layout: Layout, log: str) -> dict[str, float]:
    """The numbers of a row, as many as `log` asks for; `before`: the row of the measurement before."""
    found = {"stability": row.stability, **measurement.totals(row)}
    if before is not None:
        found["agreement"] = agreement(measurement, before, row)
    numbers = {stack: number for number, stack in enumerate(layout.stacks)}
    if log in ("layers", "heads"):
        name, values = measurement.by_layer(row)
        for stack, number in numbers.items():
            for layer in range(layout.layers(stack)):
                found[f"{name}/{layout.spell_layer(stack, layer)}"] = float(values[number, layer])
    if log == "heads":
        name, values = measurement.by_head(row)
        for head in layout:
            found[f"{name}/{layout.spell(head)}"] = float(values[numbers[head.stack], head.layer, head.head])
    return found


def agreement(measurement: Measurement, before: Row, row: Row) -> float:
    """The rank correlation of two rows over the heads."""
    first, second = (np.ravel(each.arrays[measurement.order]) for each in (before, row))
    return rank_correlation(first, second, draws=1)[0]
