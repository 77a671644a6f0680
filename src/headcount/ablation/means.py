"""The mean output of every head over the real tokens of a reference: what `how="mean"` puts in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.errors import InvalidOption
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.trace.attention import AttentionCall
from headcount.trace.modes import evaluating
from headcount.trace.precision import wide
from headcount.trace.wiring import OutputEdit, Place, edited

Batch = Mapping[str, Any]


class _Sum(OutputEdit):
    """Adds up a layer's head outputs over the real positions of each batch."""

    def __init__(self) -> None:
        self.total: Tensor | None = None
        self.count = 0
        self.real: Tensor | None = None

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        kept = outputs.detach().double()
        if self.real is None:
            kept = kept.flatten(0, 1)
        else:
            kept = kept[self.real.to(kept.device)]
        self.total = kept.sum(0) if self.total is None else self.total + kept.sum(0)
        self.count += len(kept)
        return outputs


@takes_compiled
def mean_outputs(model: PreTrainedModel, batches: Batch | Iterable[Batch]) -> dict[str, Tensor]:
    """By stack, the mean output [layer, head, size] of every head over the real tokens of the batches.

    Real tokens are those of `attention_mask`; in a decoder beside an encoder those of
    `decoder_attention_mask`, else of the labels that are not -100; without any of them, all.
    """
    anatomy = read_anatomy(model)
    sums: dict[Place, _Sum] = {(block.stack, block.layer): _Sum() for block in anatomy}
    batches = [batches] if isinstance(batches, Mapping) else list(batches)
    if not batches:
        raise InvalidOption("the reference is empty; expected at least one batch of inputs")
    for batch in batches:
        for (stack, _), total in sums.items():
            total.real = real_positions(batch, stack, anatomy)
        with evaluating(model), edited(model, sums, "the mean over the reference"), torch.no_grad():
            model(**batch)
    means = {}
    for stack, layers in anatomy.stacks.items():
        size = max(block.head_size for block in layers)
        tensor = torch.full((len(layers), anatomy.layout.width(stack), size), float("nan"), dtype=wide(model.dtype))
        for block in (one for one in layers if one.heads):
            one = sums[stack, block.layer]
            assert one.total is not None  # the session has checked that every layer was reached
            tensor[block.layer, list(block.heads)] = (one.total / max(one.count, 1)).to(tensor)
        means[stack] = tensor
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
