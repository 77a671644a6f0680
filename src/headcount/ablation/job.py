"""The job of a sweep: a task, its encoded examples and a metric, checked against the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers import PreTrainedModel

from headcount.ablation.evidence import AnyMetric
from headcount.ablation.hows import How, Patch, Spec, find_how
from headcount.ablation.means import Batch, mean_outputs
from headcount.core.options import without_effect
from headcount.core.provenance import fingerprint
from headcount.data.batches import by_length, collate, plan_batches
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.counterparts import WRONG, Counterparts, read_counterparts, with_wrong_answers
from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples, read_examples
from headcount.data.hub import read_hub
from headcount.data.in_memory import InMemory
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.metrics import DIFFERENCE, Metric
from headcount.data.read_rows import read_rows
from headcount.data.synthetic.source import Synthetic, find_source, refuse_source
from headcount.data.tasks import GLUE, Task, find_glue, find_task
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable
from headcount.models.anatomy import Anatomy
from headcount.models.dispatched import input_device
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.models.matching_weights import check_head
from headcount.models.task_heads import class_endings, has_head
from headcount.trace.anatomy import read_anatomy
from headcount.zoo.bundled import find_data, spell_model

Data = str | Path | InMemory | Synthetic
BATCH_TOKENS = 4096
"""Padded tokens of a batch of inputs whose outputs are averaged."""


@dataclass
class Job:
    """What is swept: the task, its encoded examples, the metric."""

    model: PreTrainedModel
    anatomy: Anatomy
    task: Task
    examples: Examples
    encodings: Encodings
    metric: AnyMetric
    counterparts: Counterparts | None = None
    """A second input for each example, if `how` needs one."""

    def on(self, encodings: Encodings) -> Job:
        """The job on other inputs for the same examples."""
        return replace(self, encodings=encodings)

    @property
    def contrasts(self) -> bool:
        """Whether the difference of the logits of a right and a wrong answer is kept."""
        return isinstance(self.metric, Metric) and self.metric.name == DIFFERENCE

    @property
    def metric_name(self) -> str:
        if isinstance(self.metric, Metric):
            return self.metric.name
        code = getattr(self.metric, "__code__", None)
        mark = "" if code is None else f" ({fingerprint([code.co_code, str(code.co_consts), str(code.co_names)])[:6]})"
        return getattr(self.metric, "__name__", "custom") + mark

    @property
    def higher_is_better(self) -> bool:
        return self.metric.higher_is_better if isinstance(self.metric, Metric) else True

    @property
    def generated(self) -> bool:
        """Whether the metric is of texts that the model generates."""
        return isinstance(self.metric, Metric) and self.metric.generated

    @property
    def fingerprint(self) -> str:
        """Of the texts as the tokenizer encodes them, and of the labels."""
        return fingerprint([self.examples.ids, self.encodings.rows, self.examples.labels])

    @property
    def attributes(self) -> dict[str, Any]:
        """What a result says of the task and of how its examples were read."""
        return {
            "task": self.task.name,
            "kind": self.task.kind.name,
            "cut": self.encodings.cut,
            ATTRIBUTE: dict(self.examples.blank),
            "notes": list(self.examples.notes),
        }


def prepare_job(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    task: str | Task | None,
    how: How | Spec,
    metric: Any,
    limit: int | None,
    seed: int,
    max_length: int | None,
    untrained: bool | None = None,
) -> Job:
    """Read and encode the examples, and check that the model has a trained head for the task."""
    spec = find_how(how)
    anatomy = read_anatomy(model)
    check_weights(model)
    task = find_known_task(data, task)
    check_classifier(model, task, untrained)
    task = task.for_model(model)
    table = read_data(data, task, tokenizer, limit, seed)
    class_names = getattr(model.config, "id2label", None)
    examples = read_examples(table, task, class_names, limit, seed, tokenizer)
    encodings = encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed)
    examples = replace(examples, labels=task.kind.scored_labels(examples.labels, encodings.rows))
    chosen = task_metric(task, metric if metric is not None else _patch_metric(task, table, spec))
    job = Job(model, anatomy, task, examples, encodings, chosen)
    if not job.contrasts:
        without_effect("wrong", task.wrong, f"{job.metric_name} has no use for wrong answers, as {DIFFERENCE} has")
    if not isinstance(spec, Patch):
        without_effect("counterpart", task.counterpart, f"how={spec.name!r} takes nothing from another input")
    else:
        pairs = read_counterparts(_rows(table, examples), examples, encodings, tokenizer, seed)
        job = replace(job, counterparts=pairs)
    return _with_wrong_answers(job, _rows(table, examples), tokenizer, class_names or {}) if job.contrasts else job


def _rows(table: pd.DataFrame, examples: Examples) -> pd.DataFrame:
    """The rows of the examples, with all of their columns."""
    if not table.index.is_unique:
        raise DataProblem("the rows of the data frame have names that occur twice; reset its index")
    rows = table.loc[examples.ids]
    rows.attrs = table.attrs
    return rows


def _patch_metric(task: Task, table: pd.DataFrame, spec: Spec) -> str | None:
    """The metric of a patch, unless one is given: smooth, since a head may carry a part of a difference."""
    if not isinstance(spec, Patch) or not task.default_metric:
        return None
    if task.kind.contrasts and (task.wrong or WRONG) in table:
        return DIFFERENCE
    return next((metric.name for metric in task.kind.metrics if metric.name == "log_probability"), None)


def _with_wrong_answers(job: Job, rows: pd.DataFrame, tokenizer: Any, names: Mapping[int, str]) -> Job:
    encodings = with_wrong_answers(rows, job.examples, job.encodings, tokenizer, names)
    pairs = job.counterparts
    if pairs is not None:
        others = replace(job.examples, texts=pairs.texts)
        pairs = replace(pairs, encodings=with_wrong_answers(rows, others, pairs.encodings, tokenizer, names))
    return replace(job, encodings=encodings, counterparts=pairs)


def task_metric(task: Task, metric: Any) -> AnyMetric:
    """A metric by its name, a function, or the task's own metric."""
    return metric if callable(metric) else task.kind.find_metric(metric or task.metric)


def find_known_task(data: Data, task: str | Task | None) -> Task:
    """The named task, the GLUE task of the data, or completion for synthetic texts."""
    if isinstance(task, Task):
        return task
    if task is None and find_source(data) is not None:
        return find_task("completion")
    glue = find_glue(data)
    if task is None and glue is not None:
        return glue
    if task is None:
        subject = data if isinstance(data, str) else "the data"
        raise InvalidOption(
            f"say what {subject} is with task=: one of {', '.join(GLUE)}, or a kind such as classification"
        )
    return find_task(task)


def read_data(data: Data, task: Task, tokenizer: Any = None, limit: int | None = None, seed: int = 0) -> pd.DataFrame:
    """The table that the data names; synthetic texts are made for the tokenizer, `limit` of them, from the seed."""
    synthetic = find_source(data)
    if synthetic is not None and tokenizer is not None:
        return synthetic.read(tokenizer, limit, seed)
    refuse_source(data, "synthetic texts have no labels", "labelled examples")
    source: str | Path | InMemory = find_data(data)
    own = task.hub[2] if task.hub else None
    if not isinstance(source, str | Path) or Path(source).exists():
        return read_rows(source, task, own=own)
    glue = find_glue(source)
    if glue is not None:
        assert glue.hub is not None  # every GLUE task is on the hub
        return read_hub(*glue.hub)
    return read_rows(source, task, own=own)


def check_classifier(model: PreTrainedModel, task: Task, untrained: bool | None = None) -> None:
    """The model must have the head that the task needs, and that head must have been trained.

    `untrained`: accept a new head; None where the caller has no such option.
    """
    name_or_path = spell_model(getattr(model.config, "_name_or_path", "")) or "MODEL"
    remedy = f"make one: headcount finetune {name_or_path} --tasks {task.name} --data FOLDER --out runs"
    remedy += "" if untrained is not False else ", or allow a random one with untrained=True"
    if not has_head(model, task.kind.auto_class):
        name, expected = type(model).__name__, " or ".join(class_endings(task.kind.auto_class))
        why = task.kind.without_head or f"it has no such head (expected ...{expected}); {remedy}"
        raise ModelUnavailable(f"{name} cannot do {task.kind.name}: {why}")
    task.kind.check_model(model, read_anatomy(model).stacks)
    if not untrained:
        check_head(model, "the head is random and a score would mean nothing", remedy)


def reference_means(
    job: Job, tokenizer: Any, reference: Data, seed: int, by_position: bool = False
) -> dict[str, torch.Tensor]:
    """The mean head outputs over the reference, which is read like the sweep's own data."""
    class_names = getattr(job.model.config, "id2label", None)
    table = read_data(reference, job.task, tokenizer, seed=seed)
    examples = read_examples(table, job.task, class_names, tokenizer=tokenizer)
    encodings = encode(examples, tokenizer, job.encodings.limit, seed)
    if by_position:
        lengths = {int(length) for length in (*job.encodings.lengths, *encodings.lengths)}
        if len(lengths) > 1 or "cross" in job.anatomy.stacks:
            raise DataProblem(
                f"means by position need texts of one length and one stack; got {min(lengths)} to {max(lengths)} tokens"
            )
    batches = list(input_batches(job.model, tokenizer, job.task.kind, encodings))
    return mean_outputs(job.model, batches, by_position)


def input_batches(model: PreTrainedModel, tokenizer: Any, kind: Kind, encodings: Encodings) -> Iterator[Batch]:
    """The inputs of all examples, those of similar length together, without labels unless a decoder reads them."""
    order = by_length(encodings.lengths)
    padding = tokenizer.pad_token_id or 0
    for start, stop in plan_batches(encodings.lengths[order], BATCH_TOKENS):
        batch = collate([encodings.rows[row] for row in order[start:stop]], padding, input_device(model))
        labels = {"labels": batch["labels"]} if kind.labels_are_inputs else {}
        yield kind.prompt(model, batch) | labels
