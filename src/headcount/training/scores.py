"""Score a model on examples: its outputs, in batches of similar length, and the task's metrics."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel

from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples, read_examples
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.outputs import locate_not_finite
from headcount.data.tasks import Task
from headcount.errors import NotFinite
from headcount.models.dispatched import input_device
from headcount.models.longest import longest_input
from headcount.trace.anatomy import read_anatomy
from headcount.trace.modes import evaluating
from headcount.trace.not_finite import not_finite

TOKENS, GENERATED_TOKENS = 8192, 4096
"""Padded tokens of a batch, and of one whose texts are generated."""
LONGEST = 128
"""Tokens of a generated text."""


def score(
    model: PreTrainedModel, tokenizer: Any, examples: Examples, encodings: Encodings, generate: bool = True
) -> dict[str, float]:
    """By name, the scores of the task's metric and of those that the papers report beside it.

    Translations get their loss and, with `generate` and where sacrebleu is installed, BLEU or chrF.
    """
    task = examples.task
    metric, names, scores = task.kind.find_metric(task.metric), [task.metric, *task.further], {}
    if metric.generated:
        names = ["loss"]
        if generate and find_spec("sacrebleu") is not None:
            texts = generate_texts(model, tokenizer, task.kind, encodings)
            scores[metric.name] = metric.score({"predictions": texts}, examples.labels)
    outputs = predict(model, tokenizer, task.kind, encodings, examples.ids)
    labels = task.kind.scored_labels(examples.labels, encodings.rows)
    return scores | {name: task.kind.find_metric(name).score(outputs, labels) for name in names}


def score_table(
    model: PreTrainedModel, tokenizer: Any, table: pd.DataFrame, task: Task, max_length: int | None = None
) -> dict[str, float]:
    """The scores of a model on the examples of a table."""
    task = task.for_model(model)
    examples = read_examples(table, task, getattr(model.config, "id2label", None), tokenizer=tokenizer)
    return score(
        model, tokenizer, examples, encode(examples, tokenizer, longest_input(model, tokenizer, max_length), 0)
    )


def generate_texts(model: PreTrainedModel, tokenizer: Any, kind: Kind, encodings: Encodings) -> list[str]:
    """The model's greedy generation for every example, in their order."""
    longest = min(LONGEST, (getattr(model.config, "max_position_embeddings", None) or LONGEST + 2) - 2)
    texts: list[str] = []
    with evaluating(model), torch.no_grad():
        for batch in _batches(model, tokenizer, encodings, GENERATED_TOKENS):
            output = model.generate(**kind.prompt(model, batch), max_new_tokens=longest, num_beams=1, do_sample=False)
            texts += tokenizer.batch_decode(output, skip_special_tokens=True)
    return [texts[number] for number in np.argsort(by_length(encodings.lengths))]


def predict(
    model: PreTrainedModel, tokenizer: Any, kind: Kind, encodings: Encodings, ids: np.ndarray | None = None
) -> Any:
    """The outputs of the model for all examples, in their order; an output that is not finite is an error.

    `ids`: the names of the examples, for the error.
    """
    return kind.outputs(predict_arrays(model, tokenizer, kind, encodings, ids))


def predict_arrays(
    model: PreTrainedModel, tokenizer: Any, kind: Kind, encodings: Encodings, ids: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """What the kind of task keeps of the model's outputs, as arrays [example, ...], in the order of the examples."""
    shapes = kind.output_shapes(model, encodings.rows)
    parts: dict[str, list[np.ndarray]] = {}
    with evaluating(model), torch.no_grad():
        for batch in _batches(model, tokenizer, encodings, TOKENS):
            reduced = kind.reduce(model(**kind.inputs(model, batch)), batch["labels"], shapes)
            for key, tensor in reduced.items():
                parts.setdefault(key, []).append(tensor.float().cpu().numpy())
    back = np.argsort(by_length(encodings.lengths))
    arrays = {key: np.concatenate(values)[back] for key, values in parts.items()}
    bad = locate_not_finite(arrays)
    if bad is not None:
        raise _not_finite(model, tokenizer, kind, encodings, bad[0], bad[0] if ids is None else ids[bad[0]])
    return arrays


def predict_labels(
    model: PreTrainedModel, tokenizer: Any, kind: Kind, encodings: Encodings, ids: np.ndarray | None = None
) -> np.ndarray:
    """[example]: the class or choice that the model predicts."""
    return np.asarray(kind.predictions(predict(model, tokenizer, kind, encodings, ids)))


def _batches(
    model: PreTrainedModel, tokenizer: Any, encodings: Encodings, tokens: int
) -> Iterator[dict[str, torch.Tensor]]:
    """Batches of up to `tokens` padded tokens, on the model's device, in the order of `by_length`."""
    order = by_length(encodings.lengths)
    for start, stop in plan_batches(encodings.lengths[order], tokens):
        rows = [encodings.rows[row] for row in order[start:stop]]
        yield collate(rows, tokenizer.pad_token_id or 0, input_device(model))


def _not_finite(
    model: PreTrainedModel, tokenizer: Any, kind: Kind, encodings: Encodings, row: int, name: Any
) -> NotFinite:
    """The error for one example, with the layer where it began."""
    batch = collate([encodings.rows[row]], tokenizer.pad_token_id or 0, input_device(model))
    return not_finite(model, read_anatomy(model), kind.inputs(model, batch), name, "the model's outputs are")
