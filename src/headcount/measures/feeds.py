"""How each kind of measure is fed: layer by layer, with gradients, or with the maps of a whole text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.language import Language
from headcount.data.kinds.masked_lm import mask_tokens
from headcount.data.kinds.tokens import Encoding
from headcount.data.marks import Marks
from headcount.measures.contract import Question, Values
from headcount.measures.distances import SeenMaps, StackMaps, sampled_queries
from headcount.measures.gradients import run_gradients
from headcount.measures.layers import run_measures
from headcount.measures.measurement import Measurement
from headcount.trace.edits import LayerKey
from headcount.trace.not_finite import refuse_rows
from headcount.trace.observe import observe

Feed = Callable[[list[Question], np.ndarray], dict[str, dict[LayerKey, Values]]]
"""From some measures and the numbers of a batch's texts to the values of each layer, by measure."""


def feeds_of(measurement: Measurement) -> dict[str, Feed]:
    """How each kind of measure is fed."""

    def layers(measures: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        batch, source, target = measurement.batch(numbers, links=any(one.name == "links" for one in measures))
        return run_measures(
            measurement.model,
            measurement.anatomy,
            batch,
            source,
            target,
            measurement.setting.classes,
            measures,
            measurement.unembedding,
        )

    def gradients(measures: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        language = measurement.setting.language
        assert language is not None  # otherwise the measure is left out
        rows = [_with_labels(measurement, language, number) for number in numbers]
        batch, source, target = measurement.batch(numbers, rows, links=False)
        return {measures[0].name: run_gradients(measures[0], measurement.model, batch, language, source, target)}

    def maps(measures: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        return {measures[0].name: _distances(measures[0], measurement, numbers)}

    return {"layers": layers, "gradients": gradients, "maps": maps}


def _with_labels(measurement: Measurement, language: Language, number: int) -> Encoding:
    row = measurement.inputs.rows[number]
    if language.masked:
        free = np.setdiff1d(np.arange(len(row["input_ids"])), measurement.inputs.facts[number].classes["special"])
        return mask_tokens(row, free, measurement.tokenizer, measurement.seed, int(measurement.inputs.ids[number]))
    return row if "labels" in row else {**row, "labels": list(row["input_ids"])}


def _distances(question: Question, measurement: Measurement, numbers: np.ndarray) -> dict[LayerKey, Values]:
    """The distances from each head in one text, layer by layer."""
    batch, source, target = measurement.batch(numbers, links=False)
    sampled: dict[str, Tensor] = {}
    for stack in measurement.anatomy.stacks:
        queries, keys = (len(marks.real[0]) for marks in _sides(stack, source, target))
        heads = measurement.setting.layers[stack] * measurement.setting.width
        some = sampled_queries(queries, keys, heads, measurement.seed)
        if some is not None:
            sampled[stack] = torch.from_numpy(some).to(measurement.model.device)
    with torch.no_grad():
        maps = observe(measurement.model, batch, outputs=False, queries=sampled).maps
    values: dict[LayerKey, Values] = {}
    for stack, tensor in maps.items():
        real = _sides(stack, source, target)[0].real[0]
        real = real if stack not in sampled else real[sampled[stack]]
        bad = [
            ~tensor[block.layer, list(block.heads), 0][:, real > 0].isfinite().all()[None]
            for block in measurement.anatomy.stacks[stack]
            if block.heads
        ]
        refuse_rows(measurement.model, bad, "the attention is")
        whole = StackMaps(tensor[:, :, 0], int(real.sum()))
        for block in measurement.anatomy.stacks[stack]:
            values[stack, block.layer] = question.see(SeenMaps(whole, block.layer, list(block.heads)))
    return values


def _sides(stack: str, source: Marks, target: Marks | None) -> tuple[Marks, Marks]:
    """What the queries and the keys of a stack are."""
    queries = source if stack == "encoder" or target is None else target
    return queries, source if stack in ("encoder", "cross") or target is None else target
