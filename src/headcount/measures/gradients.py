"""Would the model's guesses of words change if a head attended more to [SEP], to punctuation, to the rest?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedModel

from headcount.core.schema import Schema
from headcount.data.kinds.language import Language
from headcount.data.kinds.outputs import logits_of
from headcount.data.kinds.tokens import IGNORED
from headcount.data.marks import Marks
from headcount.measures.contract import Question, Schemas, Setting, Values
from headcount.trace.blocks import blocks, queries_of_block
from headcount.trace.call import AttentionCall
from headcount.trace.edits import LayerKey
from headcount.trace.gradients import each_output_gradient, map_gradient
from headcount.trace.masks import allowed_keys
from headcount.trace.not_finite import refuse_rows

CLASSES = ("sep", "punctuation", "other")


@dataclass(frozen=True)
class SeenGradient:
    """The gradient of the loss in the attention weights of one layer, in one batch, summed over the queries."""

    sizes: Tensor
    """|d loss / d weight| [B, H, K]; what the model may not attend to has no part in it."""
    allowed: Tensor
    """How many queries may attend to each key [B, 1 or H, K]."""
    keys: Marks
    classes: list[str]
    predicted: Tensor
    """Texts [B] in which a word is predicted: the others have no loss."""


class Gradients(Question):
    """The mean size of the gradient of the language-model loss in the attention weights to a kind of token, over all
    pairs of tokens between which the model may attend.

    Masked words for an encoder (15 %, chosen by seed and row), the next word for a decoder. The loss of a text is the
    mean over its predicted words, so that no text depends on the others in its batch. Clark's Figure 3, whose code was
    never released.
    """

    name = "gradients"
    summary = "|d loss / d attention| to [SEP], punctuation and other tokens, under the language-model loss"
    paper = "Clark 2019, Fig 3"
    schemas: ClassVar[Schemas] = {
        "sep": Schema(
            "Loss by attention to [SEP]",
            "gradient",
            "low: the loss does not depend on it",
            (0, None),
            most="moves the loss most through [SEP]",
        ),
        "punctuation": Schema(
            "Loss by attention to punctuation", "gradient", "low: the loss does not depend on it", (0, None)
        ),
        "other": Schema("Loss by attention to words", "gradient", "low: the loss does not depend on it", (0, None)),
    }
    kind = "gradients"

    def lacking(self, setting: Setting) -> str | None:
        return None if setting.language else "the model has no language-model head"

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        return {name: () for name in CLASSES if name in setting.classes}

    def see(self, seen: SeenGradient) -> Values:
        keys = seen.keys
        kinds = torch.stack([keys.classes.get(name, torch.zeros_like(keys.real)) for name in seen.classes], -1)
        sums = seen.sizes @ kinds
        means = sums / (seen.allowed.to(sums.dtype) @ kinds)
        means = torch.where(seen.predicted[:, None, None], means, float("nan"))
        return {name: means[..., number] for number, name in enumerate(seen.classes)}


def run_gradients(
    question: Question,
    model: PreTrainedModel,
    batch: Mapping[str, Tensor],
    language: Language,
    source: Marks,
    target: Marks | None,
) -> dict[LayerKey, Values]:
    """The answers for all layers of one batch."""
    labels = batch["labels"]
    inputs = dict(batch) if language.labels_are_inputs else {key: batch[key] for key in batch if key != "labels"}
    values: dict[LayerKey, Values] = {}
    bad: list[Tensor] = []
    predicted = (language.aligned(labels, labels)[1] != IGNORED).any(1)

    def objective(result: Any) -> Tensor:
        logits, aim = language.aligned(logits_of(result), labels)
        scored = aim != IGNORED  # the others would cost a row of the vocabulary each
        losses = functional.cross_entropy(logits[scored].float(), aim[scored], reduction="none")
        share = 1 / scored.sum(1).clamp(min=1)
        return (losses * share[scored.nonzero()[:, 0]]).sum()

    def look(call: AttentionCall, gradient: Tensor) -> None:
        call, gradient = call.on(labels.device), gradient.to(labels.device)
        stack = call.block.stack
        queries = source if stack == "encoder" or target is None else target
        keys = source if stack in ("encoder", "cross") or target is None else target
        sizes: Tensor | int = 0
        allowed: Tensor | int = 0
        for block in blocks(call, queries_of_block(call), every_key=True):
            rows = slice(block.start, block.stop)
            part = call.of_queries(rows)
            # What the mask forbids has a gradient too, but no weight that could change.
            reached = allowed_keys(part)
            pairs = (queries.real[:, rows] > 0)[:, None, :, None] & (keys.real > 0)[:, None, None]
            pairs = pairs if reached is None else pairs & reached
            sizes = sizes + torch.where(pairs, map_gradient(part, gradient[:, rows]).float().abs(), 0).sum(2)
            allowed = allowed + pairs.sum(2)
        assert isinstance(sizes, Tensor)
        assert isinstance(allowed, Tensor)
        bad.append(~sizes.isfinite().flatten(1).all(-1))
        classes = [name for name in CLASSES if name in source.classes]
        values[stack, call.block.layer] = question.see(SeenGradient(sizes, allowed, keys, classes, predicted))

    each_output_gradient(model, inputs, objective, look)
    refuse_rows(model, bad, "the gradients of the attention are")
    return values
