"""What has changed in every head between two models, such as one before and after fine-tuning."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.renamed import renamed
from headcount.core.schema import Schema
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.number_options import check_numbers
from headcount.engines.compute import Compute
from headcount.engines.engine import Ray, takes_engine
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption, UnsuitableModel
from headcount.measures.catalogue import MEASURES
from headcount.measures.contract import CHANCE, Question, Schemas, Seen, Setting, Values
from headcount.measures.inputs import Data, check_tokenizer
from headcount.measures.layers import see_layers
from headcount.measures.measurement import Measurement, prepare_measurement
from headcount.measures.passes import collect
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.models.segments import has_segments
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched

MOST = 1000
"""Texts at most, as in the paper."""


@dataclass(frozen=True)
class Pair:
    """One layer in two models: what was kept of it in the first, and how it is seen in the second."""

    before: Any
    after: Seen


class Comparison(Question):
    """A question about a layer in two models; `keep` says what it needs to remember of the first."""

    category = "Changed by fine-tuning"

    @abstractmethod
    def keep(self, seen: Seen) -> Any: ...


class Cosine(Comparison):
    """The cosine of a head's flattened attention maps, and of its outputs, in the two models, mean over texts.

    Padding is left out (the paper's code keeps it, and so finds larger cosines in shorter texts). 1: unchanged.
    """

    name = "cosine"
    summary = "cosine of a head's maps and of its outputs in the two models; 1 is unchanged"
    paper = "Kovaleva 2019, Fig 5"
    schemas: ClassVar[Schemas] = {
        "maps": Schema(
            "How similar its maps stayed in fine-tuning", "cosine", "1: unchanged by fine-tuning", (-1, 1), main=True
        ),
        "outputs": Schema("Likeness of the outputs before and after", "cosine", "1: unchanged by fine-tuning", (-1, 1)),
    }

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {"maps": (), "outputs": ()}

    def keep(self, seen: Seen) -> tuple[Tensor, Tensor]:
        return _parts(seen)

    def see(self, seen: Pair) -> Values:
        (maps, outputs), (new_maps, new_outputs) = seen.before, _parts(seen.after)
        return {"maps": _cosine(maps, new_maps), "outputs": _cosine(outputs, new_outputs)}


class Change(Comparison):
    """The difference of a question's answers: the second model's value minus the first one's, text by text."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.name = question.name  # type: ignore[misc]
        self.summary = f"change of: {question.summary}"  # type: ignore[misc]
        self.paper = question.paper  # type: ignore[misc]
        self.needs_map = question.needs_map  # type: ignore[misc]
        self.schemas = {name: schema.of_change() for name, schema in question.schemas.items()}  # type: ignore[misc]

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        # Chance levels are the same for both models.
        return {name: dims for name, dims in self.question.variables(setting).items() if not name.endswith(CHANCE)}

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        return self.question.coords(setting)

    def notes(self) -> dict[str, Any]:
        return self.question.notes()

    def keep(self, seen: Seen) -> Values:
        return self.question.see(seen)

    def see(self, seen: Pair) -> Values:
        after = self.question.see(seen.after)
        return {name: after[name] - seen.before[name] for name in after}


@renamed(batch_tokens="in compute=Compute(...)")
@takes_compiled
@takes_engine
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
    compute: Compute | None = None,
    tagger: str | Path | None = None,
    engine: str | Ray | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """How every head of `other` differs from that of `model` on the same texts, as a DataTree of Datasets.

    `cosine` holds the similarity of maps and outputs (Kovaleva's Figure 5); every other Dataset the change of a
    measure, `other` minus `model`, with a paired interval. The models must have the same heads and read the same
    tokens. At most 1000 texts by default. `tagger`: a token classifier that tells nouns, subjects and so on.
    `compute`: how it runs; a shard whose other parts are not done yet gives what is there, without means.
    `engine`: "ray", or `hc.Ray(...)`, runs its units on a cluster (docs/cluster.md).
    """
    check_numbers(max_length=max_length)
    check_tokenizer(tokenizer)
    if out is not None:
        check_untouched(other)
    # Texts that both can read.
    longest = min(longest_input(other, tokenizer), max_length or longest_input(other, tokenizer))
    measurement = prepare_measurement(
        model,
        tokenizer,
        data,
        text=text,
        limit=limit,
        seed=seed,
        max_length=longest,
        compute=compute,
        out=out,
        name=name,
        progress=progress,
        tagger=tagger,
    )
    second = _check_alike(measurement, other)
    questions: list[Question] = [Cosine()]
    questions += [
        Change(one)
        for one in MEASURES.values()
        if one.kind == "layers" and not one.needs_logits and not one.lacking(measurement.setting)
    ]

    def run(wanted: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        return _run_pair(measurement, second, [one for one in wanted if isinstance(one, Comparison)], numbers)

    rows = np.arange(len(measurement.inputs.ids))
    with evaluating(model), evaluating(other):
        results = collect(measurement, questions, rows, run, "compare", other=other)
    tree = xr.DataTree.from_dict(results)
    tree.attrs = {"cut": measurement.inputs.cut, ATTRIBUTE: measurement.inputs.blank, "texts": len(rows)}
    return tree


def _check_alike(measurement: Measurement, other: PreTrainedModel) -> Any:
    anatomy = read_anatomy(other)
    check_weights(other)
    ours, theirs = measurement.anatomy.layout, anatomy.layout
    if ours != theirs:
        counts = [
            {stack: (layout.layers(stack), layout.width(stack)) for stack in layout.stacks} for layout in (ours, theirs)
        ]
        raise UnsuitableModel(
            f"the models differ in their heads: layers and heads {counts[0]} and {counts[1]}; expected two of one shape"
        )
    sizes = [{block.head_size for block in one} for one in (measurement.anatomy, anatomy)]
    if sizes[0] != sizes[1]:
        raise UnsuitableModel(f"the models differ in the size of their heads: {sizes[0]} and {sizes[1]}")
    if measurement.inputs.pairs and has_segments(measurement.model) != has_segments(other):
        raise InvalidOption("got pairs of texts, but only one of the two models has segments; give one text column")
    pieces = [model.config.vocab_size for model in (measurement.model, other)]
    if pieces[0] != pieces[1]:
        raise UnsuitableModel(
            f"the models differ in their vocabularies: {pieces[0]} and {pieces[1]} pieces; expected two that read the "
            "same tokens"
        )
    return other, anatomy


def _run_pair(
    measurement: Measurement, second: Any, wanted: list[Comparison], numbers: np.ndarray
) -> dict[str, dict[LayerKey, Values]]:
    """Both models on one batch: what the first one's layers gave is kept until the second one has come by."""
    other, anatomy = second
    batch, source, target = measurement.batch(numbers)
    # The map is built before a question that could do without it: it would be built a second time otherwise.
    ordered = sorted(wanted, key=lambda question: not question.needs_map)
    kept: dict[LayerKey, dict[str, Any]] = {}
    values: dict[str, dict[LayerKey, Values]] = {question.name: {} for question in wanted}

    def first(seen: Seen) -> None:
        kept[seen.stack, seen.view.block.layer] = {question.name: question.keep(seen) for question in ordered}

    def then(seen: Seen) -> None:
        layer_key = (seen.stack, seen.view.block.layer)
        before = kept.pop(layer_key)
        for question in ordered:
            values[question.name][layer_key] = question.see(Pair(before.pop(question.name), seen))

    see_layers(measurement.model, measurement.anatomy, batch, source, target, measurement.setting.classes, first)
    moved = {key: tensor.to(input_device(other)) for key, tensor in batch.items()}
    see_layers(other, anatomy, moved, source, target, measurement.setting.classes, then)
    return values


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
