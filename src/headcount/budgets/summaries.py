"""The results of trials, by order and step, for each half of the examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headcount.ablation.paired import score_changes
from headcount.ablation.summary import metric_name
from headcount.budgets.trials import NUMBERS, Trial, Tried
from headcount.core.budget_schemas import budget_schemas
from headcount.core.results import Labelled, label_axes
from headcount.core.schema import with_schemas
from headcount.core.units import Selection
from headcount.data.kinds.metrics import Metric
from headcount.models.anatomy import Anatomy
from headcount.pruning.held_out import HeldOut

SINGLE = ("baseline", "baseline_low", "baseline_high")


def summarise(
    half: str, held_out: HeldOut, trials: Sequence[Trial], tried: Tried, anatomy: Anatomy, seed: int
) -> Labelled:
    """The scores of one half with their intervals, what is left of the model, and how fast it is: [order, step]."""
    orders = list(dict.fromkeys(trial.order for trial in trials))
    steps = sorted({trial.target for trial in trials}, reverse=True)
    at = {(trial.order, trial.target): number for number, trial in enumerate(trials)}

    def grid(values: np.ndarray | Sequence[Any], empty: Any = np.nan) -> np.ndarray:
        rows = [[values[at[key]] if (key := (order, step)) in at else empty for step in steps] for order in orders]
        return np.array(rows, dtype=object if isinstance(empty, str) else float)

    changes = score_changes(
        tried.outputs[half], held_out.examples.labels, held_out.metric, held_out.examples.task.kind, seed
    )
    arrays: dict[str, tuple[Any, ...]] = {
        key: (("order", "step"), grid(values)) for key, values in changes.items() if key not in SINGLE
    }
    arrays |= {key: ((), float(changes[key])) for key in SINGLE}
    arrays |= {key: (("order", "step"), grid(tried.numbers[key])) for key in NUMBERS}
    arrays["parts"] = (("order", "step"), grid([str(trial.removed) for trial in trials], ""))
    arrays |= _left(anatomy, orders, steps, {key: trials[number].removed for key, number in at.items()})
    arrays |= label_axes({"order": orders, "step": steps})
    metric = held_out.metric
    higher = metric.higher_is_better if isinstance(metric, Metric) else True
    return with_schemas(arrays, budget_schemas(metric_name(metric), higher))


def _left(
    anatomy: Anatomy, orders: list[str], steps: list[float], removed: Mapping[tuple[str, float], Selection]
) -> dict[str, tuple[Any, ...]]:
    """How many heads and units each layer has, whole and after each trial; NaN where there is no such layer."""
    stacks = list(anatomy.stacks)
    layers = max(anatomy.layout.layers(stack) for stack in stacks)
    whole = {name: np.full((len(stacks), layers), np.nan) for name in ("heads", "units")}
    for stack, blocks in anatomy.stacks.items():
        for block in blocks:
            whole["heads"][stacks.index(stack), block.layer] = block.count
    for stack, feed_forwards in anatomy.feed_forwards.items():
        for feed_forward in feed_forwards:
            whole["units"][stacks.index(stack), feed_forward.layer] = feed_forward.count
    left = {name: np.tile(counts, (len(orders), len(steps), 1, 1)) for name, counts in whole.items()}
    for row, order in enumerate(orders):
        for column, step in enumerate(steps):
            selection = removed.get((order, step))
            if selection is None:
                left["heads"][row, column] = left["units"][row, column] = np.nan
                continue
            for name, part in (("heads", selection.heads), ("units", selection.units)):
                for (stack, layer), numbers in part.by_layer().items():
                    left[name][row, column, stacks.index(stack), layer] -= len(numbers)
    dims = ("stack", "layer")
    return {
        **{f"{name}_whole": (dims, counts) for name, counts in whole.items()},
        **{f"{name}_left": (("order", "step", *dims), counts) for name, counts in left.items()},
        **label_axes({"stack": stacks, "layer": list(range(layers))}),
    }
