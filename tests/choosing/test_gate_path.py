"""Gates are trained at one price after the other, and a training that came to nothing is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from headcount.errors import TrainingDiverged
from tests import planted
from tests.choosing.gates import learn, needy


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_each_price_begins_where_the_one_before_ended(tokenizer: Any) -> None:
    whole = learn(needy(), tokenizer, price=(0.05,), max_steps=8)
    parted = learn(needy(), tokenizer, price=(0.05, 0.05), max_steps=4)
    np.testing.assert_array_equal(parted["log_a"].values[1], whole["log_a"].values[0])


def test_progress_is_told(tokenizer: Any) -> None:
    told: list[Any] = []
    learn(needy(), tokenizer, price=(0.0, 0.1), max_steps=2, progress=lambda *both: told.append(both))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_gates_that_diverge_are_an_error(tokenizer: Any) -> None:
    model = planted.too_large_for_float16(planted.classifier(3))
    assert np.isfinite(learn(model, tokenizer, planted.texts(40))["loss"]).all()
    with pytest.raises(TrainingDiverged, match=r"the loss is not finite at step \d of learning gates, first for row"):
        learn(model.half(), tokenizer, planted.texts(40))
    steep = planted.classifier()
    with torch.no_grad():
        steep.classifier.weight.mul_(60_000)  # the loss is finite, what flows back is beyond float16
    with pytest.raises(TrainingDiverged, match="the gates are not finite after the price"):
        learn(steep.half(), tokenizer, planted.texts(3), max_steps=1, per_device_train_batch_size=1, seed=3)
