"""What every head looks at: all measures over some texts, in one streaming pass, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.core.provenance import versions
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.encode import Encoding
from headcount.data.marks import mark
from headcount.engines.shards import Shard, run_units
from headcount.errors import InvalidOption
from headcount.measures.catalogue import choose_measures
from headcount.measures.contract import Measure, Setting, Values
from headcount.measures.distances import EXAMPLES, head_distances
from headcount.measures.gradients import language_of, mask_words, run_gradients
from headcount.measures.inputs import Data, Inputs, read_inputs
from headcount.measures.layers import run_measures
from headcount.measures.results import Arrays, FolderResult, MemoryResult
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.fingerprint import model_fingerprint
from headcount.trace.modes import evaluating
from headcount.trace.observe import observe
from headcount.trace.wiring import Place

Progress = Callable[[float, float], None]
UNIT = 64
"""Texts of a unit of work: what a kill can lose."""
CPU_TOKENS, GPU_TOKENS = 1024, 32768
"""Padded tokens of a batch."""


@dataclass
class Task:
    """What is measured on what: everything that a pass needs."""

    model: PreTrainedModel
    tokenizer: Any
    anatomy: Anatomy
    inputs: Inputs
    setting: Setting
    tokens: int
    seed: int


def measure(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    only: Iterable[str] | str | None = None,
    text: tuple[str, ...] | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    batch_tokens: int | None = None,
    distance_examples: int = EXAMPLES,
    progress: Progress | None = None,
) -> xr.DataTree:
    """What every head looks at, as a DataTree with one Dataset for each measure, dims (stack, layer, head).

    `data`: a file, folder or data frame with one or two text columns (`text=` names them), a CoNLL-U file, or a table
    with tokens, upos, heads and deprels, which the linguistic measures need. `only`: names of
    `headcount.measures.catalogue.MEASURES`, all by default; those that make no sense for the model or the texts are left
    out and named in the attribute `left_out`. `out`: a study folder, written as it runs; the same call goes on where it
    stopped. Every variable comes with `..._low` and `..._high`, a 95 % bootstrap interval over the texts, and with
    `values_...`, its value for each text.
    """
    for option, number in {
        "limit": limit,
        "batch_tokens": batch_tokens,
        "distance_examples": distance_examples,
    }.items():
        if number is not None and number < 1:
            raise InvalidOption(f"got {option}={number}; expected at least 1")
    chosen = choose_measures([only] if isinstance(only, str) else only)
    task = prepare(model, tokenizer, data, text, limit, seed, max_length, batch_tokens)
    left_out = {one.name: reason for one in chosen if (reason := one.lacking(task.setting))}
    if only is not None and left_out:
        first = next(iter(left_out))
        raise InvalidOption(f"{first} cannot be measured here: {left_out[first]}")
    kept = [one for one in chosen if one.name not in left_out]
    found: dict[str, xr.Dataset] = {}
    with evaluating(model):
        for kind in ("layers", "gradients", "maps"):
            group = [one for one in kept if one.kind == kind]
            if group:
                rows = np.arange(len(task.inputs.ids))
                if kind == "maps" and len(rows) > distance_examples:
                    rows = np.sort(np.random.default_rng(seed).permutation(len(rows))[:distance_examples])
                found |= _measure_kind(task, kind, group, rows, out, name, progress)
    tree = xr.DataTree.from_dict(found)
    tree.attrs = {"left_out": left_out, "cut": task.inputs.cut, "texts": len(task.inputs.ids)}
    return tree


def prepare(
    model: PreTrainedModel, tokenizer: Any, data: Data, text: tuple[str, ...] | None, limit: int | None, seed: int,
    max_length: int | None, batch_tokens: int | None,
) -> Task:  # fmt: skip
    anatomy = read_anatomy(model)
    inputs = read_inputs(data, model, tokenizer, text, limit, seed, max_length)
    layout = anatomy.layout
    language = language_of(model)
    if language == "masked" and tokenizer.mask_token_id is None:
        language = None
    setting = Setting(
        inputs.classes, inputs.annotated, inputs.pairs, language,
        {stack: layout.layers(stack) for stack in layout.stacks}, max(layout.width(stack) for stack in layout.stacks),
    )  # fmt: skip
    tokens = batch_tokens or (GPU_TOKENS if model.device.type == "cuda" else CPU_TOKENS)
    return Task(model, tokenizer, anatomy, inputs, setting, tokens, seed)


def _measure_kind(
    task: Task, kind: str, measures: list[Measure], rows: np.ndarray, out: str | Path | None, name: str | None,
    progress: Progress | None,
) -> dict[str, xr.Dataset]:  # fmt: skip
    """The results of the measures that one kind of pass feeds."""
    lengths = task.inputs.lengths[rows]
    order = rows[by_length(lengths)]
    ids = task.inputs.ids[order]
    units = [(start, min(start + UNIT, len(order))) for start in range(0, len(order), UNIT)]
    attributes = {
        "group": "measures", "model": str(getattr(task.model.config, "_name_or_path", "") or type(task.model).__name__),
        "model_class": type(task.model).__name__, "device": task.model.device.type, "cut": task.inputs.cut,
        "versions": versions(),
    }  # fmt: skip
    results: dict[str, MemoryResult | FolderResult] = {}
    for one in measures:
        said = attributes | {"measure": one.name, "summary": one.summary, "paper": one.paper}
        if out is None:
            results[one.name] = MemoryResult(one, task.setting, task.anatomy.layout, ids, said, units)
        else:
            results[one.name] = FolderResult(
                out, name, identity(task, one, ids), one, task.setting, task.anatomy.layout, ids, said, units
            )
    done = {name: result.done() for name, result in results.items()}
    open_units = [not all(flags[unit] for flags in done.values()) for unit in range(len(units))]
    reached = sum(stop - start for (start, stop), more in zip(units, open_units, strict=True) if not more)
    if progress is not None:
        progress(reached, len(order))

    def work(unit: int) -> None:
        nonlocal reached
        missing = [one for one in measures if not done[one.name][unit]]
        values = run_unit(task, kind, missing, order[slice(*units[unit])])
        for one in missing:
            results[one.name].save(unit, values[one.name])
        reached += units[unit][1] - units[unit][0]
        if progress is not None:
            progress(reached, len(order))

    run_units([not more for more in open_units], Shard(), work, lambda *_: None)
    return {name: result.finish(task.seed) for name, result in results.items()}


def identity(task: Task, one: Measure, ids: np.ndarray) -> dict[str, Any]:
    """What must be the same for a result to be gone on with."""
    return {
        "measure": one.name, "model": model_fingerprint(task.model), "data": task.inputs.fingerprint,
        "examples": len(ids), "seed": task.seed, "max_length": task.inputs.limit,
        "dtype": str(task.model.dtype).removeprefix("torch."), "coords": one.coords(task.setting),
    }  # fmt: skip


def run_unit(task: Task, kind: str, measures: list[Measure], rows: np.ndarray) -> dict[str, Arrays]:
    """The values of some measures for some texts: [example, stack, layer, head, ...] by measure and variable."""
    lengths = task.inputs.lengths[rows]
    parts: dict[str, list[Arrays]] = {one.name: [] for one in measures}
    tokens = 1 if kind == "maps" else task.tokens
    for start, stop in plan_batches(lengths, tokens):
        numbers = rows[start:stop]
        found = _run_batch(task, kind, measures, numbers)
        for one in measures:
            parts[one.name].append(_place(task, one, found[one.name], len(numbers)))
    return {name: {key: np.concatenate([part[key] for part in found]) for key in found[0]}
            for name, found in parts.items()}  # fmt: skip


def _run_batch(task: Task, kind: str, measures: list[Measure], numbers: np.ndarray) -> dict[str, dict[Place, Values]]:
    inputs, device = task.inputs, task.model.device
    rows: list[Encoding] = [inputs.rows[number] for number in numbers]
    language = task.setting.language
    if kind == "gradients":
        rows = [_with_labels(task, number, str(language)) for number in numbers]
    batch = collate(rows, task.tokenizer.pad_token_id or 0, device)
    source = mark([inputs.facts[number] for number in numbers], device)
    target = None if inputs.targets is None else mark([inputs.targets[number] for number in numbers], device)
    if kind == "gradients":
        return {measures[0].name: run_gradients(task.model, batch, str(language), source, target)}
    if kind == "maps":
        return {measures[0].name: _distances(task, batch, source.real, target)}
    return run_measures(task.model, task.anatomy, batch, source, target, task.setting.classes, measures)


def _with_labels(task: Task, number: int, language: str) -> Encoding:
    row = task.inputs.rows[number]
    if language == "masked":
        outside = task.inputs.facts[number].classes["special"]
        return mask_words(row, outside, task.tokenizer, task.seed, int(task.inputs.ids[number]))
    return row if "labels" in row else {**row, "labels": list(row["input_ids"])}


def _distances(task: Task, batch: dict[str, Any], real: Any, target: Any) -> dict[Place, Values]:
    """The distances from each head of one text, layer by layer."""
    with torch.no_grad():
        maps = observe(task.model, batch, outputs=False).maps
    found: dict[Place, Values] = {}
    for stack, tensor in maps.items():
        count = int(real.sum()) if stack == "encoder" or target is None else int(target.real.sum())
        square = head_distances(tensor[:, :, 0], count)
        for block in task.anatomy.stacks[stack]:
            found[stack, block.layer] = {"distance": square[block.layer][list(block.heads)][None]}
    return found


def _place(task: Task, one: Measure, found: dict[Place, Values], examples: int) -> Arrays:
    """[example, stack, layer, head, ...] from the values of each layer; NaN where a model has no such head."""
    coords = one.coords(task.setting)
    stacks = list(task.anatomy.stacks)
    lead = (examples, len(stacks), max(task.setting.layers.values()), task.setting.width)
    arrays = {}
    for name, extra in one.variables(task.setting).items():
        full = np.full((*lead, *(len(coords[dim]) for dim in extra)), np.nan, dtype=np.float32)
        for (stack, layer), values in found.items():
            tensor = values[name]
            heads = list(task.anatomy.attention(stack, layer).heads)
            inner = tuple(slice(size) for size in tensor.shape[2:])
            full[(slice(None), stacks.index(stack), layer, heads, *inner)] = tensor.detach().float().cpu().numpy()
        arrays[name] = full
    return arrays
