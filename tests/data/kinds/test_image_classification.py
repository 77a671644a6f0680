"""Image classifiers: which heads give a distribution over classes, and that no verb takes them as a task."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from transformers.modeling_outputs import ImageClassifierOutput

from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.image_classification import ImageClassification
from headcount.data.kinds.typed import Question, Typed


@pytest.mark.parametrize(
    ("labels", "problem", "suits"),
    [
        (3, None, True),
        (3, "single_label_classification", True),
        (3, "multi_label_classification", False),
        (1, "regression", False),
        (1, None, False),
    ],
)
def test_one_class_of_several(labels: int, problem: str | None, suits: bool) -> None:
    config = SimpleNamespace(num_labels=labels, problem_type=problem)
    assert ImageClassification().suits(config) == suits


def test_every_row_has_one_question() -> None:
    logits = torch.randn(2, 3)
    found = ImageClassification().answers(ImageClassifierOutput(logits=logits), Typed({}, (Question("class"),)))
    assert found.shape == (2, 1, 3)


def test_it_is_no_task_of_data() -> None:
    assert ImageClassification.name not in KINDS
