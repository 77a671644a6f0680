"""What a model gives for held-out examples, kept so that it can be compared with what becomes of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedModel

from headcount.ablation.evidence import AnyMetric
from headcount.ablation.paired import PairedScores, compare_scores
from headcount.core.provenance import fingerprint
from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples, read_examples
from headcount.data.kinds.metrics import Metric
from headcount.data.tasks import Task
from headcount.models.longest import longest_input
from headcount.training.scores import generate_texts, predict, predict_arrays


@dataclass(frozen=True)
class HeldOut:
    """Encoded examples that were used neither to select heads nor to train."""

    tokenizer: Any
    examples: Examples
    encodings: Encodings
    metric: AnyMetric

    @classmethod
    def read(
        cls,
        model: PreTrainedModel,
        tokenizer: Any,
        table: pd.DataFrame,
        task: Task,
        metric: AnyMetric,
        max_length: int | None = None,
        seed: int = 0,
    ) -> HeldOut:
        """The examples of a table, encoded for the model."""
        task = task.for_model(model)
        examples = read_examples(table, task, getattr(model.config, "id2label", None), tokenizer=tokenizer)
        encodings = encode(examples, tokenizer, longest_input(model, tokenizer, max_length), seed)
        labels = task.kind.scored_labels(examples.labels, encodings.rows)
        return cls(tokenizer, replace(examples, labels=labels), encodings, metric)

    def outputs(self, model: PreTrainedModel) -> Any:
        """What the model gives for the examples, as the metric needs it."""
        kind = self.examples.task.kind
        if isinstance(self.metric, Metric) and self.metric.generated:
            return {"predictions": generate_texts(model, self.tokenizer, kind, self.encodings)}
        return predict(model, self.tokenizer, kind, self.encodings, self.examples.ids)

    def arrays(self, model: PreTrainedModel) -> dict[str, np.ndarray]:
        """The same as arrays [example, ...], which can be stored; not for metrics of generated texts."""
        return predict_arrays(model, self.tokenizer, self.examples.task.kind, self.encodings, self.examples.ids)

    def read_outputs(self, arrays: dict[str, np.ndarray]) -> Any:
        """The outputs that arrays hold."""
        return self.examples.task.kind.outputs(arrays)

    @property
    def fingerprint(self) -> str:
        """Of the texts as the tokenizer encodes them, and of the labels."""
        return fingerprint([self.examples.ids, self.encodings.rows, self.examples.labels])

    def compare(self, *outputs: Any, seed: int = 0) -> PairedScores:
        """The score of the first outputs, and the changes of the others from it, with paired intervals."""
        return compare_scores(list(outputs), self.examples.labels, self.metric, self.examples.task.kind, seed)
