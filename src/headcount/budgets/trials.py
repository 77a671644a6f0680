"""Trials: smaller models that are really made, scored on both halves of the examples, and timed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from headcount.core.budget_schemas import HALVES, budget_schemas
from headcount.core.provenance import Origin
from headcount.core.results import ArrayPlan, label_axes
from headcount.core.schema import Schema, with_schemas
from headcount.core.units import Selection
from headcount.costs.cost import flops, make_inputs, time_both
from headcount.engines.executors import ThisProcess
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Run, Unit, group_name
from headcount.pruning.held_out import HeldOut
from headcount.pruning.prepared_fit import PreparedFit
from headcount.pruning.prune import prune

REPEATS = 7
"""Passes of the whole and of the smaller model, in turns, for its speed."""
NUMBERS = ("operations", "weights", "speed", "speed_low", "speed_high")


@dataclass(frozen=True)
class Trial:
    """One smaller model: by which order, to which share of the budget's currency, and what is removed for it."""

    order: str
    target: float
    removed: Selection


@dataclass(frozen=True)
class Bench:
    """What trials are made from and measured with."""

    model: PreTrainedModel
    halves: tuple[HeldOut, HeldOut]
    fit: PreparedFit | None
    """What the output projections are refitted with; None where they stay as they are."""
    batch: int
    length: int

    def make(self, removed: Selection) -> PreTrainedModel:
        """A copy of the model without these heads and units, refitted."""
        smaller: PreTrainedModel = prune(copy.deepcopy(self.model), removed)
        return smaller if self.fit is None else self.fit(smaller)

    def measure(self, smaller: PreTrainedModel) -> dict[str, float]:
        """Which shares of operations and weights are left, and how many times as fast the model is."""
        before, after = time_both(self.model, smaller, self.batch, self.length, REPEATS)
        low, speed, high = np.quantile(before / after, (0.25, 0.5, 0.75))
        inputs = make_inputs(self.model, self.batch, self.length)
        return {
            "operations": flops(smaller, inputs) / flops(self.model, inputs),
            "weights": smaller.num_parameters() / self.model.num_parameters(),
            "speed": float(speed),
            "speed_low": float(low),
            "speed_high": float(high),
        }


@dataclass(frozen=True)
class Tried:
    """What the trials gave: numbers [trial], and by half the arrays of the whole model's and all trials' outputs."""

    numbers: Mapping[str, np.ndarray]
    outputs: Mapping[str, list[Any]]
    """By half, the outputs of the whole model and of each trial."""


def run_trials(
    bench: Bench,
    trials: Sequence[Trial],
    origin: Origin,
    options: Mapping[str, Any],
    attributes: Mapping[str, Any],
    study: Any,
    name: str | None,
    progress: Progress | None,
) -> Tried:
    """Make, score and time all trials; each is a unit of a run, so that the same call resumes after the last one."""
    whole = {half: held_out.arrays(bench.model) for half, held_out in zip(HALVES, bench.halves, strict=True)}
    count = len(trials)
    schemas = budget_schemas("the score", higher_is_better=True)
    plans = {number: ArrayPlan(("example",), (count,), "float64", schemas[number].attributes()) for number in NUMBERS}
    for half, arrays in whole.items():
        for key, array in arrays.items():
            dims = ("example", *(f"{half}_{axis}" if axis else half for axis in range(array.ndim)))
            said = Schema(f"Outputs of each smaller model on the {half} half: {key}", shown=False).attributes()
            plans[f"{half}_{key}"] = ArrayPlan(dims, (count, *array.shape), "float32", said)
    run = Run(
        group_name("pruning/trials", name),
        origin,
        options,
        attributes,
        lambda _: {},
        plans,
        {
            **label_axes({"example": list(range(count))}),
            **with_schemas(
                {
                    "order": (("example",), np.array([trial.order for trial in trials], dtype=object)),
                    "target": (("example",), np.array([trial.target for trial in trials])),
                    "parts": (("example",), np.array([str(trial.removed) for trial in trials], dtype=object)),
                },
                schemas | {"target": schemas["step"]},
            ),
        },
        [(number, number + 1) for number in range(count)],
    )

    def work(unit: Unit) -> dict[str, dict[str, np.ndarray]]:
        smaller = bench.make(trials[unit.start].removed)
        arrays = {key: np.array([value]) for key, value in bench.measure(smaller).items()}
        for half, held_out in zip(HALVES, bench.halves, strict=True):
            arrays |= {f"{half}_{key}": array[None] for key, array in held_out.arrays(smaller).items()}
        return {run.group: arrays}

    # Here, wherever other units run: the speed is that of this machine, which nothing else should disturb.
    result = Ledger([run], study, ThisProcess(), progress).perform(work)[0]
    outputs = {
        half: [
            held_out.read_outputs(arrays)
            for arrays in (
                whole[half],
                *({key: result[f"{half}_{key}"].values[at] for key in whole[half]} for at in range(count)),
            )
        ]
        for half, held_out in zip(HALVES, bench.halves, strict=True)
    }
    return Tried({key: result[key].values for key in NUMBERS}, outputs)
