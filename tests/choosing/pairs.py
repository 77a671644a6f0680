"""Pairs of inputs for a few kinds of models, and patching by hand: one head, one example, one pass at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from headcount.ablation.hows import Patch
from headcount.ablation.job import Job, prepare_job
from headcount.core.heads import Head
from headcount.data.batches import collate
from headcount.data.tasks import Task, find_task
from headcount.models.anatomy import read_anatomy
from tests.contracts.zoo import exact
from tests.pruning.jobs import random_model

COUNT = 6
KINDS = ("classification", "llama", "t5")
WORDS = ("good", "bad", "up", "down", "the", "so", "it", "is")


def sentences() -> list[str]:
    generator = np.random.default_rng(5)
    return [" ".join(generator.choice(WORDS, size)) for size in generator.integers(3, 7, COUNT)]


def counterparts(texts: Sequence[str]) -> list[str]:
    """As many words, all others."""
    return [" ".join(WORDS[(WORDS.index(word) + 3) % len(WORDS)] for word in text.split()) for text in texts]


def make(kind: str) -> tuple[Any, pd.DataFrame, Task]:
    """A float64 model, pairs of unlike length, and the task."""
    texts = sentences()
    pairs = {"counterpart": counterparts(texts)}
    if kind == "classification":
        labels = np.arange(COUNT) % 2
        table = pd.DataFrame({"sentence": texts, "label": labels, "wrong": 1 - labels, **pairs})
        return random_model(), table, find_task("sst2")
    if kind == "llama":
        table = pd.DataFrame({"prompt": texts, "completion": " a", "wrong": " the", **pairs})
        return exact("llama", head="AutoModelForCausalLM"), table, find_task("completion")
    table = pd.DataFrame({"source": texts, "target": texts[::-1], **pairs})
    return exact(kind, head="AutoModelForSeq2SeqLM"), table, find_task("translation")


def prepared(kind: str, tokenizer: Any, metric: str) -> Job:
    model, table, task = make(kind)
    return prepare_job(model, tokenizer, table, task, Patch(), metric, None, 0, None, False)


def score(job: Job, row: dict[str, Any], change: Callable[[Head, Tensor], Tensor] | None = None) -> Tensor:
    """The metric of one encoded text, its outputs changed by hand before each output projection; differentiable."""
    anatomy = read_anatomy(job.model)
    handles = []
    for block in anatomy if change is not None else ():

        def edit(_: Any, args: Any, block: Any = block) -> Any:
            heads = args[0].unflatten(-1, (len(block.heads), block.head_size)).clone()
            for number, head in enumerate(block.heads):
                heads[:, :, number] = change(Head(block.stack, block.layer, head), heads[:, :, number])
            return (heads.flatten(2), *args[1:])

        handles.append(block.output.register_forward_pre_hook(edit))
    try:
        batch = collate([row], 0)
        result = job.model(**job.task.kind.inputs(job.model, batch))
    finally:
        for handle in handles:
            handle.remove()
    logits, labels = result.logits[0].double(), batch["labels"][0]
    if job.task.kind.name == "classification":
        classes = logits.log_softmax(-1) if job.metric_name == "log_probability" else logits
        wrong = 0 if job.metric_name == "log_probability" else classes[batch["wrong_labels"][0]]
        return classes[labels] - wrong
    if job.task.kind.name == "completion":
        logits, labels = logits[:-1], labels[1:]
    if job.metric_name == "log_probability":
        return sum(line.log_softmax(-1)[due] for line, due in zip(logits, labels, strict=True) if due != -100)  # type: ignore[return-value]
    wrong = batch["wrong_labels"][0][1:]
    [at] = (wrong != -100).nonzero()[:, 0].tolist()
    return logits[at, labels[at]] - logits[at, wrong[at]]


def outputs(job: Job, row: dict[str, Any]) -> dict[Head, Tensor]:
    """The output [position, size] of every head on one encoded text."""
    kept: dict[Head, Tensor] = {}

    def keep(head: Head, output: Tensor) -> Tensor:
        kept[head] = output[0].detach().clone()
        return output

    score(job, row, keep)
    return kept


def patched(
    job: Job, example: int, head: Head, direction: str, step: Any = 1.0, positions: Sequence[int] | None = None
) -> Tensor:
    """The metric with a head moved by `step` of the way to its output on the other input."""
    assert job.counterparts is not None
    text, other = job.encodings.rows[example], job.counterparts.encodings.rows[example]
    base, giver = (other, text) if direction == "denoise" else (text, other)
    given = outputs(job, giver)[head]

    def move(one: Head, output: Tensor) -> Tensor:
        if one != head:
            return output
        moved = output.clone()
        at = list(range(output.shape[1])) if positions is None else list(positions)
        moved[:, at] += step * (given[at] - output[:, at])
        return moved

    return score(job, base, move)
