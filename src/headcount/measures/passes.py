"""How texts become results: prepared once, run in units and batches of like length, each value put in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.options import belongs_to
from headcount.core.provenance import fingerprint
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.kinds.tokens import Encoding
from headcount.data.marks import Marks, mark
from headcount.data.number_options import check_numbers
from headcount.data.parse import parse_texts
from headcount.engines.ledger import Ledger
from headcount.engines.progress import Progress
from headcount.engines.run import Arrays, Run, Unit, group_name
from headcount.engines.workers import Batched
from headcount.errors import HeadcountError, InvalidOption, NotFinite
from headcount.measures.contract import Question, Setting, Values
from headcount.measures.inputs import Annotate, Data, Inputs, read_inputs
from headcount.measures.results import coordinates, plan_values, summarise_measure
from headcount.measures.tagging import tag_texts
from headcount.models.anatomy import Anatomy
from headcount.models.fingerprint import device_label, find_origin, model_name
from headcount.models.finite_weights import check_weights
from headcount.models.matching_weights import new_head
from headcount.models.task_heads import language_of
from headcount.trace.anatomy import read_anatomy
from headcount.trace.at_once import batches_at_once, bytes_per_token
from headcount.trace.edits import LayerKey
from headcount.trace.memory import spell_bytes, try_in_memory
from headcount.trace.not_finite import NotFiniteRow, not_finite
from headcount.trace.precision import wide
from headcount.trace.session import check_untouched

Feed = Callable[[list[Question], np.ndarray], dict[str, dict[LayerKey, Values]]]
"""From some measures and the numbers of a batch's texts to the values of each layer, by measure."""
UNIT, GPU_UNIT = 64, 512
"""Texts of a unit of work: what a kill can lose."""
CPU_TOKENS, GPU_TOKENS = 1024, 32768
"""Padded tokens of a batch."""
MAPS_HELD = 3
"""A map, and what is computed from it."""


@dataclass
class Measurement:
    """What is measured on what."""

    model: PreTrainedModel
    tokenizer: Any
    anatomy: Anatomy
    inputs: Inputs
    setting: Setting
    tokens: int
    seed: int
    out: str | Path | None
    name: str | None
    progress: Progress | None

    def batch(
        self, numbers: np.ndarray, rows: list[Encoding] | None = None, links: bool = True
    ) -> tuple[dict[str, Tensor], Marks, Any]:
        """The tensors of some texts, and the marks of their source and target tokens."""
        device = self.model.device
        if rows is None:
            rows = [_without_labels(self.inputs.rows[number]) for number in numbers]
        tensors = collate(rows, self.tokenizer.pad_token_id or 0, device)
        source = mark([self.inputs.facts[number] for number in numbers], device, links)
        targets = self.inputs.targets
        return tensors, source, None if targets is None else mark([targets[number] for number in numbers], device)


def _without_labels(row: Encoding) -> Encoding:
    return {key: value for key, value in row.items() if key != "labels"}


def prepare(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    text: tuple[str, ...] | str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    batch_tokens: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
    spacy: str | None = None,
    tagger: str | Path | None = None,
) -> Measurement:
    """The texts as the model takes them, and what can be asked of them."""
    check_numbers(seed=seed, limit=limit, batch_tokens=batch_tokens, max_length=max_length)
    belongs_to("name", name, "out", out)
    if out is not None:
        check_untouched(model)
    anatomy = read_anatomy(model)
    check_weights(model)
    columns = (text,) if isinstance(text, str) else text
    inputs = read_inputs(
        data,
        model,
        tokenizer,
        columns,
        limit,
        seed,
        max_length,
        _annotator(spacy, tagger, model.device),
        "tagger" if spacy is None else "spacy",
    )
    layout = anatomy.layout
    language = language_of(model)
    if new_head(model) or (language is not None and language.masked and tokenizer.mask_token_id is None):
        language = None
    setting = Setting(
        inputs.classes,
        inputs.annotated,
        inputs.pairs,
        language,
        {stack: layout.layers(stack) for stack in layout.stacks},
        max(layout.width(stack) for stack in layout.stacks),
        inputs.linked,
    )
    tokens = batch_tokens or (GPU_TOKENS if model.device.type == "cuda" else CPU_TOKENS)
    return Measurement(model, tokenizer, anatomy, inputs, setting, tokens, seed, out, name, progress)


def _annotator(spacy: str | None, tagger: str | Path | None, device: Any) -> Annotate | None:
    if spacy is not None and tagger is not None:
        raise InvalidOption("got spacy= and tagger=; expected one of them to annotate the texts")
    if spacy is not None:
        return lambda texts: parse_texts(texts, spacy)
    if tagger is not None:
        return lambda texts: tag_texts(texts, tagger, device)
    return None


def collect(
    task: Measurement,
    measures: list[Question],
    rows: np.ndarray,
    feed: Feed,
    group: str = "measures",
    one_by_one: bool = False,
    other: PreTrainedModel | None = None,
) -> dict[str, xr.Dataset]:
    """The results of the measures that one kind of pass feeds; `other` is the model that they compare with."""
    order = rows[by_length(task.inputs.lengths[rows])]
    ids = task.inputs.ids[order]
    size = GPU_UNIT if task.model.device.type == "cuda" else UNIT
    units = [(start, min(start + size, len(order))) for start in range(0, len(order), size)]
    origin = find_origin(task.model, task.inputs.fingerprint, task.seed, other)
    runs = {}
    for one in measures:
        coords = coordinates(task.anatomy.layout, ids, one.coords(task.setting))
        notes = one.notes()
        runs[group_name(f"{group}/{one.name}", task.name)] = Run(
            group_name(f"{group}/{one.name}", task.name),
            origin,
            {
                "measure": one.name,
                "examples": len(ids),
                "max_length": task.inputs.limit,
                "coords": one.coords(task.setting),
                **({"rule": fingerprint([notes])} if notes else {}),
            },
            {
                "group": group,
                "cut": task.inputs.cut,
                ATTRIBUTE: task.inputs.blank,
                "measure": one.name,
                "summary": one.summary,
                "paper": one.paper,
                **notes,
            },
            partial(summarise_measure, one, task.setting, task.seed),
            plan_values(one.variables(task.setting), coords, one.stored_schemas()),
            coords,
            units,
        )
    by_group = dict(zip(runs, measures, strict=True))

    def split(unit: Unit) -> list[tuple[list[Question], np.ndarray]]:
        wanted = [one for group, one in by_group.items() if group in unit.groups]
        examples = order[unit.start : unit.stop]
        ranges = plan_batches(task.inputs.lengths[examples], 1 if one_by_one else task.tokens)
        return [(wanted, examples[start:stop]) for start, stop in ranges]

    def join(unit: Unit, batches: list[list[tuple[str, Arrays]]]) -> dict[str, Arrays]:
        joined = {}
        for group in unit.groups:
            parts = [arrays for pairs in batches for name, arrays in pairs if name == by_group[group].name]
            joined[group] = {f"values_{key}": np.concatenate([part[key] for part in parts]) for key in parts[0]}
        return joined

    work = Batched(
        split,
        lambda batch: list(run_in_memory(task, batch[0], batch[1], feed)),
        join,
        batches_at_once(task.model, _bytes_of_batch(task, measures, other is not None)),
    )
    found = Ledger(list(runs.values()), task.out, progress=task.progress).perform(work)
    return {one.name: result for one, result in zip(measures, found, strict=True)}


def _bytes_of_batch(task: Measurement, measures: list[Question], compared: bool) -> int:
    """What the pass of a full batch holds, roughly: activations, and the maps of the measure that needs most.

    Where two models are compared, the maps of all layers of the first are kept for the second.
    """
    longest = int(task.inputs.lengths.max())
    tokens = max(task.tokens, longest)
    layers = sum(task.setting.layers.values())
    kept = 1 if measures[0].kind == "layers" else layers
    passing = bytes_per_token(task.model, task.setting.language is not None, kept)
    size = wide(task.model.dtype).itemsize
    maps = max(one.bytes_of_text(task.setting, longest, size) for one in measures)
    return tokens * passing + tokens // longest * maps * (MAPS_HELD + (layers if compared else 0))


def _not_finite(task: Measurement, error: NotFiniteRow, number: int) -> NotFinite:
    """What a pass says of a row of its batch, with the row's name in the data and the layer where it began."""
    batch, _, _ = task.batch(np.array([number]), links=False)
    inputs = {key: tensor.to(error.model.device) for key, tensor in batch.items()}
    whose = "" if error.model is task.model else f"in {model_name(error.model)} "
    what = f"{whose}{error.what}"
    return not_finite(error.model, read_anatomy(error.model), inputs, task.inputs.ids[number], what)


def run_in_memory(
    task: Measurement, measures: list[Question], rows: np.ndarray, feed: Feed
) -> Iterator[tuple[str, Arrays]]:
    """The values of a batch by measure; where memory does not suffice, of half the texts at a time.

    Of one text, half the measures at a time; where one measure does not fit, an error says what it needs.
    """
    try:
        found = try_in_memory(lambda: feed(measures, rows))
        if found is not None:
            yield from [(one.name, _place(task, one, found[one.name], len(rows))) for one in measures]
            return
    except NotFiniteRow as error:
        raise _not_finite(task, error, rows[error.row]) from error
    if len(rows) > 1:
        middle = len(rows) // 2
        yield from run_in_memory(task, measures, rows[:middle], feed)
        yield from run_in_memory(task, measures, rows[middle:], feed)
    elif len(measures) > 1:
        middle = len(measures) // 2
        yield from run_in_memory(task, measures[:middle], rows, feed)
        yield from run_in_memory(task, measures[middle:], rows, feed)
    else:
        one, tokens = measures[0], int(task.inputs.lengths[rows[0]])
        needed = one.bytes_of_text(task.setting, tokens, wide(task.model.dtype).itemsize)
        raise HeadcountError(
            f"the measure {one.name} has no memory on {device_label(task.model)} for one text of {tokens} tokens: its "
            f"maps take {spell_bytes(needed)} beside the pass itself; leave it out (only=), cut texts (max_length=), "
            "or take a smaller model or another device"
        )


def _place(task: Measurement, one: Question, found: dict[LayerKey, Values], examples: int) -> Arrays:
    """[example, stack, layer, head, ...] from the values of each layer; NaN where a model has no such head."""
    coords = one.coords(task.setting)
    stacks = list(task.anatomy.stacks)
    lead = (examples, len(stacks), max(task.setting.layers.values()), task.setting.width)
    arrays = {}
    for name, extra in one.variables(task.setting).items():
        full = np.full((*lead, *(len(coords[dim]) for dim in extra)), np.nan, dtype=np.float32)
        for (stack, layer), values in found.items():
            heads = list(task.anatomy.attention(stack, layer).heads)
            inner = tuple(slice(size) for size in values[name].shape[2:])
            where: Any = (slice(None), stacks.index(stack), layer, heads, *inner)
            full[where] = values[name].detach().float().cpu().numpy()
        infinite = np.isinf(full)
        if infinite.any():
            raise NotFiniteRow(task.model, int(np.argwhere(infinite)[0][0]), f"the measure {one.name} ({name}) is")
        arrays[name] = full
    return arrays
