"""The arrays of a sweep's result: the outputs of every variant for every example, the examples, the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headcount.ablation.choices import Choices
from headcount.ablation.donors import Donor
from headcount.ablation.estimated import compare_estimates
from headcount.ablation.hows import Spec
from headcount.ablation.job import Job
from headcount.ablation.pair_summary import summarise_pairs
from headcount.ablation.runner import Outcome
from headcount.ablation.screened import why_run
from headcount.ablation.summary import Summary, summarise_sweep
from headcount.core.pair_schemas import pair_schemas
from headcount.core.results import PAIR, ArrayPlan, head_coords, label_axes, present_heads
from headcount.data.kinds.metrics import DIFFERENCE
from headcount.data.kinds.outputs import DTYPES
from headcount.engines.run import Arrays


def plan_arrays(choices: Choices, job: Job, donor: Donor | None = None) -> dict[str, ArrayPlan]:
    """The arrays of the outputs for each example, of the baseline, of each choice and of the other input, if any."""
    examples, coords = len(job.examples.ids), choices.coords()
    dims, lead = choices.dims, tuple(len(coords[dim]) for dim in choices.dims)
    if donor is not None and donor.draws > 1:
        dims, lead = (*dims, "draw"), (*lead, donor.draws)
    arrays = {}
    for key, shape in output_shapes(job).items():
        arrays[f"baseline_{key}"] = ArrayPlan(_dims(key, ()), (examples, *shape), DTYPES[key])
        arrays[key] = ArrayPlan(_dims(key, dims), (*lead, examples, *shape), DTYPES[key])
        if donor is not None and donor.compared:
            arrays[f"given_{key}"] = ArrayPlan(_dims(key, ()), (examples, *shape), DTYPES[key])
    return arrays


def arrange_outputs(choices: Choices, outcome: Outcome, numbers: Sequence[int] | None = None) -> Arrays:
    """The outputs of a unit of work as these arrays.

    `numbers`: the choices that were run, if not all of them.
    """
    ran = range(len(choices.sets)) if numbers is None else numbers
    arrays = {f"baseline_{key}": value for key, value in outcome.baseline.items()}
    arrays |= {f"given_{key}": value for key, value in outcome.given.items()}
    return arrays | {key: _arranged(choices, values, ran) for key, values in outcome.variants.items()}


def summarise_arrays(choices: Choices, job: Job, seed: int, spec: Spec, arrays: Arrays) -> Summary:
    """The statistics over the examples in their own order, so that they do not depend on the order of the passes."""
    keys = output_shapes(job)
    baseline = {key: arrays[f"baseline_{key}"] for key in keys}
    variants = {key: flat_choices(choices, arrays[key]) for key in keys}
    if choices.paired is not None:
        return summarise_pairs(choices, baseline, variants, job.examples.labels, job.metric, job.task.kind, seed)
    given = {key: arrays[f"given_{key}"] for key in keys if f"given_{key}" in arrays}
    summary = summarise_sweep(
        choices, baseline, variants, job.examples.labels, job.metric, job.task.kind, seed, given, spec
    )
    return summary | compare_estimates(choices, job, baseline, variants, seed)


def output_shapes(job: Job) -> dict[str, tuple[int, ...]]:
    """The outputs that are kept for each example, with their shapes."""
    if job.generated:
        return {"texts": ()}
    shapes = job.task.kind.output_shapes(job.model, job.encodings.rows)
    return shapes | ({DIFFERENCE: ()} if job.contrasts else {})


def fixed_arrays(choices: Choices, job: Job, rows: np.ndarray, texts: bool) -> dict[str, tuple[Any, ...]]:
    """What is known before any pass: coordinates, labels and texts of the examples, in the order of `rows`."""
    fixed = label_axes(choices.coords()) | why_run(choices) | _pair_names(choices)
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
        if job.counterparts is not None:
            values = [_text(job.counterparts.texts[row][0]) for row in rows]
            fixed["counterpart"] = (("example",), np.array(values, dtype=object))
    if job.counterparts is not None and any(job.counterparts.tasks):
        fixed["task"] = (("example",), np.array([job.counterparts.tasks[row] for row in rows], dtype=object))
    return fixed


def _pair_names(choices: Choices) -> dict[str, tuple[Any, ...]]:
    """Of a sweep over pairs: the names of the pairs and of their heads, and the axes of what each head does alone."""
    if choices.paired is None:
        return {}
    names, numbers = np.array(choices.names(), dtype=object), np.array(choices.paired.numbers, dtype=int).T
    both, first, second = (names[column] for column in numbers)
    named: dict[str, tuple[Any, ...]] = {PAIR: ((PAIR,), both), "first": ((PAIR,), first), "second": ((PAIR,), second)}
    screened = choices.paired.screened
    if screened is not None:
        schema = pair_schemas("", True)["estimated"].attributes()
        named["estimated"] = ((PAIR,), np.array(screened.estimated), schema)
    return label_axes(head_coords(choices.layout)) | named | present_heads(choices.layout)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value))


def _dims(key: str, lead: tuple[str, ...]) -> tuple[str, ...]:
    tail = {"logits": ("class",), "document_scores": ("document",), "predictions": ("word",)}.get(key, ())
    return (*lead, "example", *tail)


def _arranged(choices: Choices, values: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """[*dims, example, ...] from [choice, example, ...] for the choices with these numbers."""
    coords = choices.coords()
    shape = tuple(len(coords[dim]) for dim in choices.dims)
    filler: Any = "" if values.dtype == object else np.nan if values.dtype.kind == "f" else -1
    full = np.full((*shape, *values.shape[1:]), filler, dtype=values.dtype)
    for number, value in zip(numbers, values, strict=True):
        full[choices.index(number)] = value
    return full


def flat_choices(choices: Choices, values: np.ndarray) -> np.ndarray:
    """[choice, example, ...] from [*dims, example, ...]."""
    return np.stack([values[choices.index(number)] for number in range(len(choices.sets))])
