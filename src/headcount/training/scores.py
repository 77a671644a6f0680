"""How good a model is on some examples: its outputs, in batches of like length, and the task's metrics."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel

from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.encode import IGNORED, Encodings, encode
from headcount.data.examples import Examples, read_examples
from headcount.data.metrics import GENERATED, find_metric
from headcount.data.outputs import first_not_finite, reduce_result, trim_tags
from headcount.data.tasks import Task
from headcount.errors import NotFinite
from headcount.models.anatomy import read_anatomy
from headcount.models.longest import longest_input
from headcount.trace.origin import not_finite

FURTHER = {"mrpc": ("accuracy",), "qqp": ("accuracy",), "stsb": ("spearman",)}
"""What the papers give beside a task's own metric."""


def score(
    model: PreTrainedModel, tokenizer: Any, examples: Examples, encodings: Encodings, generate: bool = True
) -> dict[str, float]:
    """The task's metric, by name, and those that the papers give beside it.

    Translations get BLEU or chrF where sacrebleu is installed and texts are to be generated, and their loss.
    """
    task = examples.task
    if task.metric in GENERATED:
        found = {}
        if generate and find_spec("sacrebleu") is not None:
            said = translate(model, tokenizer, encodings)
            found[task.metric] = find_metric(task.metric, task.kind).score({"predictions": said}, examples.labels)
        outputs = predict(model, tokenizer, task.kind, encodings, examples.ids)
        return found | {"loss": find_metric("loss", task.kind).score(outputs, examples.labels)}
    names = [task.metric, *FURTHER.get(task.name, ())]
    outputs = predict(model, tokenizer, task.kind, encodings, examples.ids)
    labels = examples.labels
    if task.kind == "token-classification":
        # What is scored is what was encoded: a word may be cut off, or give no pieces at all.
        labels = [[tag for tag in row["labels"] if tag != IGNORED] for row in encodings.rows]
    return {name: find_metric(name, task.kind).score(outputs, labels) for name in names}


def score_table(
    model: PreTrainedModel, tokenizer: Any, table: pd.DataFrame, task: Task, max_length: int | None = None
) -> dict[str, float]:
    """How good a model is on the examples of a table."""
    examples = read_examples(table, task, getattr(model.config, "id2label", None), tokenizer=tokenizer)
    return score(
        model, tokenizer, examples, encode(examples, tokenizer, longest_input(model, tokenizer, max_length), 0)
    )


def translate(
    model: PreTrainedModel, tokenizer: Any, encodings: Encodings, tokens: int = 4096, longest: int = 128
) -> list[str]:
    """What the model makes of every source, greedily, in the order of the examples."""
    order = by_length(encodings.lengths)
    longest = min(longest, (getattr(model.config, "max_position_embeddings", None) or longest + 2) - 2)
    training, said = model.training, []
    model.eval()
    with torch.no_grad():
        for start, stop in plan_batches(encodings.lengths[order], tokens):
            batch = collate(
                [encodings.rows[row] for row in order[start:stop]], tokenizer.pad_token_id or 0, model.device
            )
            inputs = {key: batch[key] for key in ("input_ids", "attention_mask") if key in batch}
            made = model.generate(**inputs, max_new_tokens=longest, num_beams=1, do_sample=False)
            said += tokenizer.batch_decode(made, skip_special_tokens=True)
    model.train(training)
    return [said[place] for place in np.argsort(order)]


def predict(
    model: PreTrainedModel,
    tokenizer: Any,
    kind: str,
    encodings: Encodings,
    ids: np.ndarray | None = None,
    tokens: int = 8192,
) -> Any:
    """The outputs of the model for all examples, in their order; an output that is not finite is an error.

    `ids`: what the error calls the examples.
    """
    order = by_length(encodings.lengths)
    width = (
        max((sum(tag >= 0 for tag in row["labels"]) for row in encodings.rows), default=0)
        if kind == "token-classification"
        else 0
    )
    parts: dict[str, list[np.ndarray]] = {}
    known = inspect.signature(model.forward).parameters
    training = model.training
    model.eval()
    with torch.no_grad():
        for start, stop in plan_batches(encodings.lengths[order], tokens):
            batch = collate(
                [encodings.rows[row] for row in order[start:stop]], tokenizer.pad_token_id or 0, model.device
            )
            inputs = {key: value for key, value in batch.items() if key in known}
            if kind not in ("translation",):
                inputs.pop("labels", None)
            found = reduce_result(kind, model(**inputs), batch["labels"], width)
            for key, tensor in found.items():
                parts.setdefault(key, []).append(tensor.float().cpu().numpy())
    model.train(training)
    back = np.argsort(order)
    outputs: dict[str, Any] = {key: np.concatenate(arrays)[back] for key, arrays in parts.items()}
    bad = first_not_finite(outputs)
    if bad is not None:
        raise _not_finite(model, tokenizer, kind, encodings, bad[0], bad[0] if ids is None else ids[bad[0]])
    if kind == "token-classification":
        outputs["predictions"] = trim_tags(outputs["predictions"])
    return outputs


def _not_finite(
    model: PreTrainedModel, tokenizer: Any, kind: str, encodings: Encodings, row: int, name: Any
) -> NotFinite:
    """The error for one example, with the layer where it began."""
    batch = collate([encodings.rows[row]], tokenizer.pad_token_id or 0, model.device)
    known = inspect.signature(model.forward).parameters
    inputs = {key: value for key, value in batch.items() if key in known and (key != "labels" or kind == "translation")}
    return not_finite(model, read_anatomy(model), inputs, name, "the model's outputs are")
