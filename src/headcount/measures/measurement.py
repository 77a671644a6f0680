"""What is measured on what: the model, the texts as it takes them, and what can be asked of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.options import belongs_to
from headcount.data.batches import collate
from headcount.data.kinds.tokens import Encoding
from headcount.data.marks import Marks, mark
from headcount.data.number_options import check_numbers
from headcount.data.parse import parse_texts
from headcount.engines.compute import Compute, check_compute
from headcount.engines.executors import Shard
from headcount.engines.progress import Progress
from headcount.errors import InvalidOption, UnsuitableModel
from headcount.measures.contract import Setting
from headcount.measures.inputs import Annotate, Data, Inputs, read_inputs
from headcount.measures.tagging import tag_texts
from headcount.models.anatomy import Anatomy
from headcount.models.dispatched import input_device
from headcount.models.finite_weights import check_weights
from headcount.models.matching_weights import new_head
from headcount.models.task_heads import language_of
from headcount.models.unembedding import Unembedding
from headcount.trace.anatomy import read_anatomy
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched
from headcount.trace.unembedding_proof import prove_unembedding

CPU_TOKENS, GPU_TOKENS = 1024, 32768
"""Padded tokens of a batch."""

UNREADABLE = "what a head writes needs the weights of the output projection, which are quantised"


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
    part: Shard | None
    progress: Progress | None
    unembedding: Unembedding | None = None
    """How what heads write becomes logits, where it is known."""

    def batch(
        self, numbers: np.ndarray, rows: list[Encoding] | None = None, links: bool = True
    ) -> tuple[dict[str, Tensor], Marks, Any]:
        """The tensors of some texts, and the marks of their source and target tokens."""
        device = input_device(self.model)
        if rows is None:
            rows = [_without_labels(self.inputs.rows[number]) for number in numbers]
        tensors = collate(rows, self.tokenizer.pad_token_id or 0, device)
        source = mark([self.inputs.facts[number] for number in numbers], device, links)
        targets = self.inputs.targets
        return tensors, source, None if targets is None else mark([targets[number] for number in numbers], device)


def _without_labels(row: Encoding) -> Encoding:
    return {key: value for key, value in row.items() if key != "labels"}


def prepare_measurement(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    text: tuple[str, ...] | str | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    compute: Compute | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    progress: Progress | None = None,
    spacy: str | None = None,
    tagger: str | Path | None = None,
    logits: bool = False,
) -> Measurement:
    """The texts as the model takes them, and what can be asked of them; `logits`: also about logits."""
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, batch_tokens=compute.batch_tokens, max_length=max_length)
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
        _annotator(spacy, tagger, input_device(model)),
        "tagger" if spacy is None else "spacy",
    )
    tokens = compute.batch_tokens or (GPU_TOKENS if input_device(model).type == "cuda" else CPU_TOKENS)
    setting = find_setting(model, tokenizer, anatomy, inputs)
    unembedding = None
    if logits:  # the proof takes a small pass
        unembedding, no_logits = _find_unembedding(model, anatomy, setting)
        setting = replace(setting, no_logits=no_logits)
    return Measurement(model, tokenizer, anatomy, inputs, setting, tokens, seed, out, name, part, progress, unembedding)


def _find_unembedding(
    model: PreTrainedModel, anatomy: Anatomy, setting: Setting
) -> tuple[Unembedding | None, str | None]:
    """How what heads write becomes logits, or why it does not."""
    if setting.no_writing:
        return None, setting.no_writing
    if setting.language is None:
        return None, "the model has no trained language-model head"
    try:
        with evaluating(model):
            return prove_unembedding(model, anatomy), None
    except UnsuitableModel as error:
        return None, str(error)


def find_setting(model: PreTrainedModel, tokenizer: Any, anatomy: Anatomy, inputs: Inputs) -> Setting:
    """What can be asked of these texts and this model."""
    layout = anatomy.layout
    language = language_of(model)
    if new_head(model) or (language is not None and language.masked and tokenizer.mask_token_id is None):
        language = None
    return Setting(
        inputs.classes,
        inputs.annotated,
        inputs.pairs,
        language,
        {stack: layout.layers(stack) for stack in layout.stacks},
        max(layout.width(stack) for stack in layout.stacks),
        inputs.linked,
        no_writing=None if all(block.has_readable_output for block in anatomy) else UNREADABLE,
    )


def _annotator(spacy: str | None, tagger: str | Path | None, device: Any) -> Annotate | None:
    if spacy is not None and tagger is not None:
        raise InvalidOption("got spacy= and tagger=; expected one of them to annotate the texts")
    if spacy is not None:
        return lambda texts: parse_texts(texts, spacy)
    if tagger is not None:
        return lambda texts: tag_texts(texts, tagger, device)
    return None
