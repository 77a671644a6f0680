"""How measures become results: texts in units and batches of like length, in the memory there is, by head."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.core.provenance import fingerprint
from headcount.data.batches import by_length, plan_batches
from headcount.data.blank_rows import ATTRIBUTE
from headcount.engines.ledger import Ledger
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched
from headcount.errors import HeadcountError, NotFinite
from headcount.measures.contract import Question, Values
from headcount.measures.feeds import Feed
from headcount.measures.measurement import Measurement
from headcount.measures.own import check_answer, version_of
from headcount.measures.results import coordinates, plan_values, summarise_measure
from headcount.models.dispatched import input_device
from headcount.models.fingerprint import device_label, find_origin, model_name
from headcount.trace.anatomy import read_anatomy
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.edits import LayerKey
from headcount.trace.memory import spell_bytes, try_in_memory
from headcount.trace.not_finite import NotFiniteRow, not_finite
from headcount.trace.precision import wide

UNIT, GPU_UNIT = 64, 512
"""Texts of a unit of work: what a kill can lose."""
MAPS_HELD = 3
"""A map, and what is computed from it."""


def collect(
    measurement: Measurement,
    measures: list[Question],
    rows: np.ndarray,
    feed: Feed,
    group: str = "measures",
    one_by_one: bool = False,
    other: PreTrainedModel | None = None,
) -> dict[str, xr.Dataset]:
    """The results of the measures that one kind of pass feeds; `other` is the model that they compare with."""
    order = rows[by_length(measurement.inputs.lengths[rows])]
    ids = measurement.inputs.ids[order]
    size = GPU_UNIT if input_device(measurement.model).type == "cuda" else UNIT
    units = [(start, min(start + size, len(order))) for start in range(0, len(order), size)]
    origin = find_origin(measurement.model, measurement.inputs.fingerprint, measurement.seed, other)
    by_group = {group_name(f"{group}/{one.name}", measurement.name): one for one in measures}
    runs = []
    for name, one in by_group.items():
        coords = coordinates(measurement.anatomy.layout, ids, one.coords(measurement.setting))
        notes = one.notes()
        run = Run(
            name,
            origin,
            {
                "measure": one.name,
                "examples": len(ids),
                "max_length": measurement.inputs.limit,
                "coords": one.coords(measurement.setting),
                **({"rule": fingerprint([notes])} if notes else {}),
                **({"code": version} if (version := version_of(one)) else {}),
            },
            {
                "group": group,
                "cut": measurement.inputs.cut,
                ATTRIBUTE: measurement.inputs.blank,
                "measure": one.name,
                "summary": one.summary,
                "paper": one.paper,
                **notes,
            },
            partial(summarise_measure, one, measurement.setting, measurement.seed),
            plan_values(one.variables(measurement.setting), coords, one.stored_schemas()),
            coords,
            units,
        )
        runs.append(run)

    def split(unit: Unit) -> list[tuple[list[Question], np.ndarray]]:
        wanted = [one for group, one in by_group.items() if group in unit.groups]
        examples = order[unit.start : unit.stop]
        ranges = plan_batches(measurement.inputs.lengths[examples], 1 if one_by_one else measurement.tokens)
        return [(wanted, examples[start:stop]) for start, stop in ranges]

    def join(unit: Unit, batches: list[list[tuple[str, Arrays]]]) -> dict[str, Arrays]:
        joined = {}
        for group in unit.groups:
            parts = [arrays for pairs in batches for name, arrays in pairs if name == by_group[group].name]
            joined[group] = {f"values_{key}": np.concatenate([part[key] for part in parts]) for key in parts[0]}
        return joined

    work = Batched(
        split,
        lambda batch: list(run_in_memory(measurement, batch[0], batch[1], feed)),
        join,
        batches_at_once(measurement.model, _bytes_of_batch(measurement, measures, other is not None)),
    )
    results = Ledger(runs, measurement.out, measurement.part, measurement.progress).perform(work)
    return {one.name: result for one, result in zip(measures, results, strict=True)}


def _bytes_of_batch(measurement: Measurement, measures: list[Question], compared: bool) -> int:
    """What the pass of a full batch holds, roughly: activations, and the maps of the measure that needs most.

    Where two models are compared, the maps of all layers of the first are kept for the second.
    """
    longest = int(measurement.inputs.lengths.max())
    tokens = max(measurement.tokens, longest)
    layers = sum(measurement.setting.layers.values())
    kept = 1 if measures[0].kind == "layers" else layers
    passing = bytes_per_token(measurement.model, measurement.setting.language is not None, kept)
    size = wide(measurement.model.dtype).itemsize
    maps = max(one.bytes_of_text(measurement.setting, longest, size) for one in measures)
    return tokens * passing + tokens // longest * maps * (MAPS_HELD + (layers if compared else 0))


def _not_finite(measurement: Measurement, error: NotFiniteRow, number: int) -> NotFinite:
    """What a pass says of a row of its batch, with the row's name in the data and the layer where it began."""
    batch, _, _ = measurement.batch(np.array([number]), links=False)
    inputs = {key: tensor.to(input_device(error.model)) for key, tensor in batch.items()}
    model = "" if error.model is measurement.model else f"in {model_name(error.model)} "
    subject = f"{model}{error.subject}"
    return not_finite(error.model, read_anatomy(error.model), inputs, measurement.inputs.ids[number], subject)


def run_in_memory(
    measurement: Measurement, measures: list[Question], rows: np.ndarray, feed: Feed
) -> Iterator[tuple[str, Arrays]]:
    """The values of a batch by measure; where memory does not suffice, of half the texts at a time.

    Of one text, half the measures at a time; where one measure does not fit, an error says what it needs.
    """
    try:
        values = try_in_memory(lambda: feed(measures, rows))
        if values is not None:
            yield from [(one.name, _by_head(measurement, one, values[one.name], len(rows))) for one in measures]
            return
    except NotFiniteRow as error:
        raise _not_finite(measurement, error, rows[error.row]) from error
    if len(rows) > 1:
        middle = len(rows) // 2
        yield from run_in_memory(measurement, measures, rows[:middle], feed)
        yield from run_in_memory(measurement, measures, rows[middle:], feed)
    elif len(measures) > 1:
        middle = len(measures) // 2
        yield from run_in_memory(measurement, measures[:middle], rows, feed)
        yield from run_in_memory(measurement, measures[middle:], rows, feed)
    else:
        one, tokens = measures[0], int(measurement.inputs.lengths[rows[0]])
        needed = one.bytes_of_text(measurement.setting, tokens, wide(measurement.model.dtype).itemsize)
        raise HeadcountError(
            f"the measure {one.name} has no memory on {device_label(measurement.model)} for one text of {tokens} "
            f"tokens: its maps take {spell_bytes(needed)} beside the pass itself; leave it out (only=), cut texts "
            "(max_length=), or take a smaller model or another device"
        )


def _by_head(measurement: Measurement, one: Question, values_by_layer: dict[LayerKey, Values], examples: int) -> Arrays:
    """[example, stack, layer, head, ...] from the values of each layer; NaN where a model has no such head."""
    coords = one.coords(measurement.setting)
    stacks = list(measurement.anatomy.stacks)
    lead = (examples, len(stacks), max(measurement.setting.layers.values()), measurement.setting.width)
    arrays = {}
    variables = one.variables(measurement.setting)
    for (stack, layer), values in values_by_layer.items():
        check_answer(one, values, variables, (examples, len(measurement.anatomy.attention(stack, layer).heads)))
    for name, extra in variables.items():
        full = np.full((*lead, *(len(coords[dim]) for dim in extra)), np.nan, dtype=np.float32)
        for (stack, layer), values in values_by_layer.items():
            heads = list(measurement.anatomy.attention(stack, layer).heads)
            inner = tuple(slice(size) for size in values[name].shape[2:])
            where: Any = (slice(None), stacks.index(stack), layer, heads, *inner)
            full[where] = values[name].detach().float().cpu().numpy()
        infinite = np.isinf(full)
        if infinite.any():
            raise NotFiniteRow(
                measurement.model, int(np.argwhere(infinite)[0][0]), f"the measure {one.name} ({name}) is"
            )
        arrays[name] = full
    return arrays
