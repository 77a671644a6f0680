"""Where the outputs of a sweep go as they come: into memory, or into a study folder; and the Dataset that they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr

from headcount.ablation.job import Job
from headcount.ablation.plan import Choices, SweepPlan
from headcount.ablation.runner import Arrays
from headcount.ablation.summary import Summary, summarise
from headcount.data.kinds.outputs import DTYPES


class Sink(Protocol):
    """Takes the outputs of one unit of work after the other, and makes the result of them."""

    units: list[tuple[int, int]]

    @property
    def complete(self) -> bool: ...

    def done(self) -> list[bool]: ...

    def save(self, unit: int, outputs: tuple[Arrays, Arrays]) -> None: ...

    def finish(self, choices: Choices, job: Job, order: np.ndarray, texts: bool, seed: int) -> xr.Dataset: ...


class MemorySink:
    """Keeps the outputs of a sweep in memory."""

    complete = False

    def __init__(self, plan: SweepPlan, attributes: dict[str, Any]) -> None:
        self.units, self.attributes = list(plan.units), attributes
        self.found: dict[int, tuple[Arrays, Arrays]] = {}

    def done(self) -> list[bool]:
        return [False] * len(self.units)

    def save(self, unit: int, outputs: tuple[Arrays, Arrays]) -> None:
        self.found[unit] = outputs

    def finish(self, choices: Choices, job: Job, order: np.ndarray, texts: bool, seed: int) -> xr.Dataset:
        parts = [self.found[unit] for unit in sorted(self.found)]
        rows = np.concatenate([order[slice(*self.units[unit])] for unit in sorted(self.found)])
        baseline = {key: np.concatenate([part[0][key] for part in parts]) for key in parts[0][0]}
        variants = {key: np.concatenate([part[1][key] for part in parts], axis=1) for key in parts[0][1]}
        arrays = {f"baseline_{key}": (_dims(key, ()), value) for key, value in baseline.items()}
        arrays |= {key: (_dims(key, choices.dims), _arranged(choices, value)) for key, value in variants.items()}
        fixed = fixed_arrays(choices, job, rows, texts)
        complete = len(rows) == len(order)
        if complete:
            arrays |= _summary(choices, job, rows, baseline, variants, seed)
        dataset = xr.Dataset(
            {**arrays, **{k: v for k, v in fixed.items() if k not in v[0]}},
            coords={k: v for k, v in fixed.items() if k in v[0]},
        )
        dataset.attrs = self.attributes | {"complete": complete}
        return dataset.sortby("example")


class FolderSink:
    """Writes the outputs of a sweep into a study folder as they come."""

    def __init__(
        self,
        out: str | Path,
        name: str | None,
        identity: dict[str, Any],
        attributes: dict[str, Any],
        choices: Choices,
        job: Job,
        order: np.ndarray,
        texts: bool,
    ) -> None:
        from headcount.core.store import ArrayPlan, Study

        group = f"sweep/{choices.by}-{identity['how']}{'@' + name if name else ''}"
        shapes = output_shapes(job)
        coords = choices.coords()
        lead = tuple(len(coords[dim]) for dim in choices.dims)
        arrays = {}
        for key, shape in shapes.items():
            arrays[f"baseline_{key}"] = ArrayPlan(_dims(key, ()), (len(order), *shape), DTYPES[key])
            arrays[key] = ArrayPlan(_dims(key, choices.dims), (*lead, len(order), *shape), DTYPES[key])
        units = [(start, stop) for start, stop in attributes["units"]]
        fixed = fixed_arrays(choices, job, order, texts)
        self.group = Study(out).group(group, identity, attributes, arrays, fixed, units)
        self.units = [(int(start), int(stop)) for start, stop in self.group.zarr.attrs["units"]]
        self.choices = choices

    @property
    def complete(self) -> bool:
        return self.group.complete

    def done(self) -> list[bool]:
        return self.group.done()

    def save(self, unit: int, outputs: tuple[Arrays, Arrays]) -> None:
        baseline, variants = outputs
        arrays = {f"baseline_{key}": value for key, value in baseline.items()}
        arrays |= {key: _arranged(self.choices, value) for key, value in variants.items()}
        self.group.write_unit(unit, *self.units[unit], arrays)

    def finish(self, choices: Choices, job: Job, order: np.ndarray, texts: bool, seed: int) -> xr.Dataset:
        if not self.group.complete and all(self.group.done()):
            stored = self.group.read()
            keys = output_shapes(job)
            baseline = {key: stored[f"baseline_{key}"].values for key in keys}
            variants = {key: _flat(choices, stored[key].values) for key in keys}
            self.group.finish(_summary(choices, job, order, baseline, variants, seed), {})
        return self.group.read().sortby("example")


def output_shapes(job: Job) -> dict[str, tuple[int, ...]]:
    """The arrays that are kept for each example, with their shapes."""
    return {"texts": ()} if job.generated else job.task.kind.output_shapes(job.model, job.encodings.rows)


def fixed_arrays(choices: Choices, job: Job, rows: np.ndarray, texts: bool) -> dict[str, tuple[tuple[str, ...], Any]]:
    """What is known before any pass: coordinates, labels and texts of the examples, in the order of `rows`."""
    fixed: dict[str, tuple[tuple[str, ...], Any]] = {
        dim: ((dim,), np.asarray(values, dtype=object if isinstance(values[0], str) else None))
        for dim, values in choices.coords().items()
    }
    fixed["example"] = (("example",), job.examples.ids[rows])
    labels = job.examples.labels
    if isinstance(labels, np.ndarray):
        fixed["label"] = (("example",), labels[rows])
    elif labels is not None:
        fixed["label"] = (("example",), np.array([_text(labels[row]) for row in rows], dtype=object))
    if texts:
        for number, column in enumerate(
            ("text", "pair", *[f"choice{n}" for n in range(2, 9)])[: len(job.examples.texts[0])]
        ):
            values = [_text(job.examples.texts[row][number]) for row in rows]
            fixed[column] = (("example",), np.array(values, dtype=object))
    return fixed


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value))


def _summary(choices: Choices, job: Job, rows: np.ndarray, baseline: Arrays, variants: Arrays, seed: int) -> Summary:
    """The statistics, over the examples in their own order, so that they do not depend on that of the passes."""
    back = np.argsort(job.examples.ids[rows])
    labels = job.examples.labels
    return summarise(
        choices,
        {key: value[back] for key, value in baseline.items()},
        {key: value[:, back] for key, value in variants.items()},
        labels,
        job.metric,
        job.task.kind,
        seed,
    )


def _dims(key: str, lead: tuple[str, ...]) -> tuple[str, ...]:
    tail = {"logits": ("class",), "predictions": ("word",)}.get(key, ())
    return (*lead, "example", *tail)


def _arranged(choices: Choices, values: np.ndarray) -> np.ndarray:
    """[*dims, example, ...] from [choice, example, ...]."""
    if choices.dims == ("set",):
        return values
    coords = choices.coords()
    shape = tuple(len(coords[dim]) for dim in choices.dims)
    filler: Any = "" if values.dtype == object else np.nan if values.dtype.kind == "f" else -1
    full = np.full((*shape, *values.shape[1:]), filler, dtype=values.dtype)
    for place, value in zip(_places(choices), values, strict=True):
        full[place] = value
    return full


def _flat(choices: Choices, values: np.ndarray) -> np.ndarray:
    """[choice, example, ...] from [*dims, example, ...]."""
    if choices.dims == ("set",):
        return values
    return np.stack([values[place] for place in _places(choices)])


def _places(choices: Choices) -> list[tuple[int, ...]]:
    stacks = {stack: number for number, stack in enumerate(choices.layout.stacks)}
    if choices.heads:
        return [(stacks[head.stack], head.layer, head.head) for head in choices.keys]
    return [(stacks[stack], layer) for stack, layer in choices.keys]
