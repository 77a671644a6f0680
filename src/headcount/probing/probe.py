"""Heads against annotations: `probe` reads the annotations, runs the model once, and keeps what its kind finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from transformers import PreTrainedModel

from headcount.core.options import belongs_to
from headcount.core.writers import writes_study
from headcount.data.number_options import check_numbers
from headcount.engines.compute import Compute, check_compute
from headcount.engines.progress import Progress
from headcount.errors import DataProblem, InvalidOption
from headcount.measures.contract import Question, Seen, Values
from headcount.measures.inputs import check_tokenizer
from headcount.measures.layers import see_layers
from headcount.measures.measurement import CPU_TOKENS, GPU_TOKENS, Measurement, find_setting
from headcount.measures.passes import collect
from headcount.models.compiled import takes_compiled
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.models.random_weights import with_random_weights
from headcount.probing.contract import Kind, SeenWords, WordQuestion
from headcount.probing.dependencies import DependencyTrees
from headcount.probing.sentences import Sentences, encode_sentences
from headcount.probing.words import as_word_pieces, check_source
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey
from headcount.trace.modes import evaluating
from headcount.trace.session import check_untouched
from headcount.zoo.bundled import find_data

KINDS = ("dependencies",)


@takes_compiled
@writes_study("out")
def probe(
    model: PreTrainedModel,
    tokenizer: Any,
    data: str | Path | pd.DataFrame,
    *,
    kind: str = "dependencies",
    relations: Sequence[str] | str | None = None,
    from_word: str = "mean",
    control: bool = True,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    compute: Compute | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """How well the attention of every head follows annotations, as a Dataset with dims (stack, layer, head, ...).

    `kind`: `dependencies`, of a CoNLL-U file or a table with tokens, upos, heads and deprels. `relations`: only these;
    all with at least 100 cases by default. `from_word`: attention from a word of several pieces is the `mean` over
    them, or that of the `first`. `control`: the same model with random weights is probed too. `out`: a study folder,
    written as it runs; the same call resumes. `compute`: how it runs.

    `accuracy` [stack, layer, head, direction, relation] is the share of the words whose most attended word (or the word
    that attends to them most) is their syntactic head, with an interval over the sentences. For each relation,
    `best_head`, `best_direction` and `best_offset` are selected on one half of the sentences, and `best_accuracy`,
    `offset_accuracy`, their difference `gain` and `random_accuracy` evaluated on the other; the relation `all` is the
    unlabelled attachment score.
    """
    compute, part = check_compute(compute, out)
    check_numbers(seed=seed, limit=limit, max_length=max_length, batch_tokens=compute.batch_tokens)
    belongs_to("name", name, "out", out)
    annotations = _kind(kind, relations)
    check_source(from_word)
    if out is not None:
        check_untouched(model)
    anatomy = read_anatomy(model)
    check_weights(model)
    check_tokenizer(tokenizer)
    longest = longest_input(model, tokenizer, max_length)
    texts = annotations.read(find_data(data), tokenizer, longest)
    sentences = encode_sentences(texts, model, tokenizer, limit, seed, longest)
    if len(sentences.annotated) < annotations.least:
        raise DataProblem(
            "got one sentence; expected at least two: one half selects the best heads, the other evaluates"
        )
    inputs = sentences.inputs
    tokens = compute.batch_tokens or (GPU_TOKENS if model.device.type == "cuda" else CPU_TOKENS)
    setting = find_setting(model, tokenizer, anatomy, inputs)
    measurement = Measurement(model, tokenizer, anatomy, inputs, setting, tokens, seed, out, name, part, progress)
    question = annotations.ask(sentences, anatomy.layout, from_word, control)
    random = with_random_weights(model, seed) if control else None

    def feed(_: list[Question], numbers: np.ndarray) -> dict[str, dict[LayerKey, Values]]:
        values = _see(measurement, sentences, question, numbers, model)
        if random is not None:
            for layer_key, arrays in _see(measurement, sentences, question, numbers, random).items():
                values[layer_key].update({f"random_{name}": array for name, array in arrays.items()})
        return {question.name: values}

    with evaluating(model), torch.inference_mode(False):
        probed = collect(measurement, [question], np.arange(len(inputs.ids)), feed, "probe")[question.name]
    return probed.assign_attrs(lost=sentences.lost, sentences=len(inputs.ids))


def _kind(kind: str, relations: Sequence[str] | str | None) -> Kind:
    """The kind of annotations by its name, with the options that it has."""
    if kind not in KINDS:
        raise InvalidOption(f"got kind={kind!r}; expected one of {', '.join(KINDS)}")
    return DependencyTrees(relations.split(",") if isinstance(relations, str) else relations)


def _see(
    measurement: Measurement, sentences: Sentences, question: WordQuestion, numbers: np.ndarray, model: PreTrainedModel
) -> dict[LayerKey, Values]:
    """What every layer of a model gives for some sentences; of an encoder-decoder, those of the encoder."""
    batch, source, target = measurement.batch(numbers, links=False)
    pieces = as_word_pieces(
        [sentences.words[number] for number in numbers],
        [sentences.known[number] for number in numbers],
        model.device,
        question.source,
    )
    gold = question.batch(list(numbers), pieces.known.shape[1], model.device)
    values: dict[LayerKey, Values] = {}

    def look(seen: Seen) -> None:
        if target is None or seen.stack == "encoder":
            layer_key = (seen.stack, seen.view.block.layer)
            values[layer_key] = question.see(SeenWords(seen.view, pieces, gold))

    see_layers(model, measurement.anatomy, batch, source, target, measurement.setting.classes, look)
    return values
