"""Classes of texts: precision of the loss, and when a training came to nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers.modeling_outputs import SequenceClassifierOutput

from headcount.data.kinds.classification import Classification
from tests.closeness import assert_same


def test_float64_stays() -> None:
    result = SequenceClassifierOutput(logits=torch.tensor([[1.0, 0.0]], dtype=torch.float64))
    found = Classification().losses(result, torch.tensor([1]))
    assert found.dtype == torch.float64
    assert_same(found, [np.log(1 + np.e)])


def test_half_precision_is_computed_in_float32() -> None:
    logits = torch.tensor([[30.0, 0.0], [0.0, 30.0]], dtype=torch.bfloat16)
    found = Classification().losses(SequenceClassifierOutput(logits=logits), torch.tensor([1, 1]))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.tensor([30.0, 0.0]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("scores", "failed"),
    [
        ({"accuracy": 0.75}, True),
        ({"accuracy": 0.76}, False),
        ({"f1": 0.9, "accuracy": 0.7}, True),
        ({"matthews": 0.0}, True),
        ({"matthews": 0.1}, False),
    ],
)
def test_a_training_that_guesses_the_largest_class_has_failed(scores: dict[str, float], failed: bool) -> None:
    assert Classification().has_failed(scores, np.array([1, 1, 0, 1])) == failed


def test_a_model_is_told_the_names_of_its_classes() -> None:
    changes = Classification().config_changes(("no", "yes"))
    assert changes == {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    assert Classification().config_changes(()) == {}
