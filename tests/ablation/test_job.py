"""Models that cannot do a task are refused."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.errors import ModelUnavailable
from headcount.models.matching_weights import NEW_WEIGHTS
from tests.ablation.test_sweep import TEXTS, random_model, sweep
from tests.ablation.test_sweep import tokenizer as tokenizer


def test_models_that_cannot_do_the_task(tokenizer: Any) -> None:
    with pytest.raises(ModelUnavailable, match="BertModel cannot do classification"):
        sweep(random_model("BertModel"), tokenizer)
    model = random_model()
    setattr(model, NEW_WEIGHTS, ["classifier.weight"])
    with pytest.raises(ModelUnavailable, match="no classifier .1 tensor.*headcount finetune MODEL --tasks sst2"):
        sweep(model, tokenizer)
    assert "score" in sweep(model, tokenizer, TEXTS.head(4), untrained=True)
