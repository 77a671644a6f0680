"""Numbers of texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers.modeling_outputs import SequenceClassifierOutput

from headcount.data.kinds.regression import Regression
from headcount.errors import ModelUnavailable


def test_one_example_and_many() -> None:
    for count in (1, 4):
        logits, labels = torch.randn(count, 1), torch.linspace(0, 5, count, dtype=torch.float64)
        found = Regression().losses(SequenceClassifierOutput(logits=logits), labels)
        assert found.shape == (count,)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, (logits[:, 0] - labels.float()) ** 2)


def test_a_model_has_one_output() -> None:
    model: Any = SimpleNamespace(config=SimpleNamespace(num_labels=2, pad_token_id=0))
    with pytest.raises(ModelUnavailable, match="has 2 outputs; a regression needs a model with one"):
        Regression().check_model(model, {"encoder"})
    for name, value in Regression().config_changes(()).items():
        setattr(model.config, name, value)
    Regression().check_model(model, {"encoder"})


@pytest.mark.parametrize(("pearson", "failed"), [(-0.1, True), (0.0, True), (float("nan"), True), (0.2, False)])
def test_a_training_without_correlation_has_failed(pearson: float, failed: bool) -> None:
    assert Regression().has_failed({"pearson": pearson}, np.array([1.0, 2.0])) == failed
