"""The mean output of every head over the real tokens of a reference: the replacement of `how="mean"`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.units import SUFFIX
from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.modes import evaluating
from headcount.trace.precision import wide
from headcount.trace.session import session

Batch = Mapping[str, Any]


@takes_compiled
def mean_outputs(
    model: PreTrainedModel, batches: Batch | Iterable[Batch], by_position: bool = False, units: bool = False
) -> dict[str, Tensor]:
    """By stack, the mean output [layer, head, size] of every head over the real tokens of the batches.

    `by_position`: the mean at each position, [layer, head, position, size]; all texts have the same length. `units`:
    those of the feed-forward units too, [layer, unit, 1] under the name of the stack with ".units".

    Real tokens are those of `attention_mask`; in the decoder of an encoder-decoder those of `decoder_attention_mask`,
    or else those whose labels are not -100; without any of these, all tokens.
    """
    anatomy = read_anatomy(model)
    if units:
        anatomy.units.check()
    blocks = list(anatomy.blocks()) if units else list(anatomy)
    batches = [batches] if isinstance(batches, Mapping) else list(batches)
    if not batches:
        raise InvalidOption("the reference is empty; expected at least one batch of inputs")
    sums: dict[LayerKey, Tensor] = {}
    counts: Counter[LayerKey] = Counter()
    for batch in batches:
        real = {stack: real_positions(batch, stack, anatomy) for stack in anatomy.stacks}

        def add(run: LayerRun, real: dict[str, Tensor | None] = real) -> None:
            key, mask = run.layer_key, real[run.block.stack]
            outputs = run.outputs.double()
            if by_position:
                sums[key] = sums.get(key, 0) + outputs.sum(0)
                counts[key] += len(outputs)
                return
            chosen = outputs.flatten(0, 1) if mask is None else outputs[mask.to(outputs.device)]
            sums[key] = sums.get(key, 0) + chosen.sum(0)
            counts[key] += len(chosen)

        observers = {block.layer_key: add for block in blocks}
        summing = session(model, observers=observers, purpose="the mean over the reference", outputs_only=True)
        with evaluating(model), torch.no_grad(), summing:
            model(**batch)
    means = {}
    for stack, layers in anatomy.stacks.items():
        size = max(block.head_size for block in layers)
        positions = next(iter(sums.values())).shape[:-2] if by_position else ()
        shape = (len(layers), anatomy.layout.width(stack), *positions, size)
        tensor = torch.full(shape, float("nan"), dtype=wide(model.dtype))
        for block in (block for block in layers if block.heads):
            key = (stack, block.layer)
            mean = sums[key] / max(counts[key], 1)
            tensor[block.layer, list(block.heads)] = (mean.transpose(0, 1) if by_position else mean).to(tensor)
        means[stack] = tensor
    return means | (_means_of_units(anatomy, sums, counts, wide(model.dtype), by_position) if units else {})


def _means_of_units(
    anatomy: Anatomy, sums: dict[LayerKey, Tensor], counts: Counter[LayerKey], dtype: torch.dtype, by_position: bool
) -> dict[str, Tensor]:
    means = {}
    for stack, blocks in anatomy.feed_forwards.items():
        positions = next(iter(sums.values())).shape[:-2] if by_position else ()
        shape = (len(blocks), anatomy.units.width(stack), *positions, 1)
        tensor = torch.full(shape, float("nan"), dtype=dtype)
        for block in (block for block in blocks if block.units):
            mean = sums[block.layer_key] / max(counts[block.layer_key], 1)
            tensor[block.layer, list(block.units)] = (mean.transpose(0, 1) if by_position else mean).to(tensor)
        means[f"{stack}{SUFFIX}"] = tensor
    return means


def real_positions(batch: Batch, stack: str, anatomy: Anatomy) -> Tensor | None:
    """Bool [example, position] of the tokens that are not padding in this stack's queries; None for all."""
    if stack != "encoder" and "encoder" in anatomy.stacks:
        mask = batch.get("decoder_attention_mask")
        if mask is None and batch.get("labels") is not None:
            mask = batch["labels"] != -100
    else:
        mask = batch.get("attention_mask")
    # A multiple choice [example, choice, position] is several rows inside the layers.
    return None if mask is None else torch.as_tensor(mask).bool().flatten(0, -2)
