"""Multi-label classification: any number of classes for a text. The whole of a new kind of task, in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor
from torch.nn import functional

from headcount.data.kinds.kind import Labels
from headcount.data.kinds.metrics import Metric, Outputs
from headcount.data.kinds.outputs import logits_of, upcast
from headcount.data.kinds.whole_text import WholeText

if TYPE_CHECKING:
    from headcount.data.labels import LabelColumn


def _right(outputs: Outputs, labels: Any) -> np.ndarray:
    """Whether all classes of a text are right."""
    return np.asarray(((outputs["logits"] > 0) == (np.asarray(labels) > 0)).all(-1))


def _accuracy(outputs: Outputs, labels: Any) -> np.ndarray:
    right = _right(outputs, labels).astype(float)
    return np.stack([right, np.ones_like(right)], -1)


def _overlap(outputs: Outputs, labels: Any) -> np.ndarray:
    """Twice the classes that are both predicted and true, and the classes that are either, counted twice if both."""
    predicted, true = outputs["logits"] > 0, np.asarray(labels) > 0
    return np.stack([2 * (predicted & true).sum(-1), predicted.sum(-1) + true.sum(-1)], -1).astype(float)


def _ratio(sums: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(sums[..., 0], sums[..., 1], out=np.zeros_like(sums[..., 0]), where=sums[..., 1] > 0))


SUBSET_ACCURACY = Metric("accuracy", _accuracy, _ratio, correct=_right)
MICRO_F1 = Metric("f1", _overlap, _ratio)


class MultiLabel(WholeText):
    """A label is a list of classes in the data, and a 0 or 1 for each class of the model."""

    name = "multi-label"
    label_columns = ("labels",)
    label_lists = True
    metrics = (SUBSET_ACCURACY, MICRO_F1)
    problem_type = "multi_label_classification"
    named_classes = True

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        assert labels is not None
        lists, notes = labels.class_lists("the labels", "a list of classes")
        return [[float(number in own) for number in sorted(labels.id2label)] for own in lists], notes

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        logits = upcast(logits_of(result))
        return functional.binary_cross_entropy_with_logits(logits, labels.to(logits), reduction="none").mean(-1)

    def predictions(self, outputs: Outputs) -> np.ndarray:
        return np.asarray(outputs["logits"] > 0).astype(int)

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        return not next(iter(scores.values())) > 0
