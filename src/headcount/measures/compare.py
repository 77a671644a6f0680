"""What has changed in every head between two models, such as one before and after fine-tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.schema import Schema
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.number_options import check_numbers
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import Measure, Schemas, Seen, Setting, Values
from headcount.measures.inputs import Data, check_tokenizer
from headcount.measures.layers import see_layers
from headcount.measures.passes import Task, collect, prepare
from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.trace.modes import evaluating
from headcount.trace.wiring import Place, check_untouched

MOST = 1000
"""Texts at most, as in the paper."""


class Cosine(Measure):
    """The cosine of a head's flattened attention maps, and of its outputs, in the two models, mean over texts.

    Padding is left out (the paper's code keeps it, and so finds larger cosines in shorter texts). 1: unchanged.
    """

    name = "cosine"
    summary = "cosine of a head's maps and of its outputs in the two models; 1 is unchanged"
    paper = "Kovaleva 2019, Fig 5"
    category = "Changed by fine-tuning"
    schemas: ClassVar[Schemas] = {
        "maps": Schema("Likeness of the maps before and after", "cosine", "1: unchanged by fine-tuning", (-1, 1)),
        "outputs": Schema("Likeness of the outputs before and after", "cosine", "1: unchanged by fine-tuning", (-1, 1)),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"maps": (), "outputs": ()}


class Change(Measure):
    """The difference of a measure: the second model's value minus the first one's, text by text."""

    def __init__(self, one: Measure) -> None:
        self.one = one
        self.name = one.name  # type: ignore[misc]
        self.summary = f"change of: {one.summary}"  # type: ignore[misc]
        self.paper = one.paper  # type: ignore[misc]
        self.schemas = {name: schema.of_change() for name, schema in one.schemas.items()}  # type: ignore[misc]
        self.category = "Changed by fine-tuning"  # type: ignore[misc]

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return self.one.variables(setting)

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return self.one.coords(setting)

    def notes(self) -> dict[str, Any]:
        return self.one.notes()


@takes_compiled
@writes_study("out")
def compare(
    model: PreTrainedModel,
    other: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    text: tuple[str, ...] | str | None = None,
    limit: int | None = MOST,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    batch_tokens: int | None = None,
    tagger: str | Path | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """How every head of `other` differs from that of `model` on the same texts, as a DataTree of Datasets.

    `cosine` holds the similarity of maps and outputs (Kovaleva's Figure 5); every other Dataset the change of a
    measure, `other` minus `model`, with a paired interval. The models must have the same heads and read the same
    tokens. At most 1000 texts by default. `tagger`: a token classifier that tells nouns, subjects and so on.
    """
    check_numbers(max_length=max_length)
    check_tokenizer(tokenizer)
    if out is not None:
        check_untouched(other)
    # Texts that both can read.
    longest = min(longest_input(other, tokenizer), max_length or longest_input(other, tokenizer))
    task = prepare(
        model,
        tokenizer,
        data,
        text=text,
        limit=limit,
        seed=seed,
        max_length=longest,
        batch_tokens=batch_tokens,
        out=out,
        name=name,
        progress=progress,
        tagger=tagger,
    )
    second = _check_alike(task, other)
    measures: list[Measure] = [Cosine()]
    measures += [Change(one) for one in MEASURES.values() if one.kind == "layers" and not one.lacking(task.setting)]

    def run(wanted: list[Measure], numbers: np.ndarray) -> dict[str, dict[Place, Values]]:
        return _run_pair(task, second, wanted, numbers)

    rows = np.arange(len(task.inputs.ids))
    with evaluating(model), evaluating(other):
        found = collect(task, measures, rows, run, "compare", other=other)
    tree = xr.DataTree.from_dict(found)
    tree.attrs = {"cut": task.inputs.cut, ATTRIBUTE: task.inputs.blank, "texts": len(rows)}
    return tree


def _check_alike(task: Task, other: PreTrainedModel) -> Any:
    anatomy = read_anatomy(other)
    check_weights(other)
    ours, theirs = task.anatomy.layout, anatomy.layout
    if ours != theirs:
        counts = [
            {stack: (layout.layers(stack), layout.width(stack)) for stack in layout.stacks} for layout in (ours, theirs)
        ]
        raise InvalidOption(
            f"the models differ in their heads: layers and heads {counts[0]} and {counts[1]}; expected two of one shape"
        )
    sizes = [{block.head_size for block in one} for one in (task.anatomy, anatomy)]
    if sizes[0] != sizes[1]:
        raise InvalidOption(f"the models differ in the size of their heads: {sizes[0]} and {sizes[1]}")
    if task.inputs.pairs and getattr(other.config, "type_vocab_size", 0) < 2:
        raise InvalidOption(f"got pairs of texts, but {type(other).__name__} has no segments; give one text column")
    if task.model.config.vocab_size != other.config.vocab_size:
        raise InvalidOption(
            f"the models differ in their vocabularies: {task.model.config.vocab_size} and {other.config.vocab_size} "
            "pieces; expected two that read the same tokens"
        )
    return other, anatomy


def _run_pair(task: Task, second: Any, wanted: list[Measure], numbers: np.ndarray) -> dict[str, dict[Place, Values]]:
    """Both models on one batch: the first one's maps are kept until the second one has come by."""
    other, anatomy = second
    batch, source, target = task.batch(numbers)
    inner = [one.one for one in wanted if isinstance(one, Change)]
    kept: dict[Place, tuple[Tensor, Tensor, dict[str, Values]]] = {}
    found: dict[str, dict[Place, Values]] = {one.name: {} for one in wanted}

    def first(seen: Seen) -> None:
        maps, outputs = _parts(seen)
        kept[seen.stack, seen.view.block.layer] = maps, outputs, {one.name: one.see(seen) for one in inner}

    def then(seen: Seen) -> None:
        place = (seen.stack, seen.view.block.layer)
        maps, outputs, before = kept.pop(place)
        new_maps, new_outputs = _parts(seen)
        if "cosine" in found:
            found["cosine"][place] = {"maps": _cosine(maps, new_maps), "outputs": _cosine(outputs, new_outputs)}
        for one in inner:
            after = one.see(seen)
            found[one.name][place] = {key: after[key] - before[one.name][key] for key in after}

    see_layers(task.model, task.anatomy, batch, source, target, task.setting.classes, first)
    moved = {key: tensor.to(other.device) for key, tensor in batch.items()}
    see_layers(other, anatomy, moved, source, target, task.setting.classes, then)
    return found


def _parts(seen: Seen) -> tuple[Tensor, Tensor]:
    """Maps [B, H, Q, K] and outputs [B, H, Q, D] with padding at zero."""
    outputs = seen.view.outputs
    assert outputs is not None
    rows = seen.queries.real[:, None, :, None]
    return seen.view.map * rows, outputs.transpose(1, 2).float() * rows


def _cosine(one: Tensor, other: Tensor) -> Tensor:
    one, other = one.flatten(2), other.flatten(2)
    lengths: Tensor = one.norm(dim=-1) * other.norm(dim=-1)
    # A head that gives nothing has no direction.
    return torch.where(lengths > 0, (one * other).sum(-1) / lengths.clamp(min=1e-30), float("nan"))
