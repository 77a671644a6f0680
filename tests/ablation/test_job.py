"""Which task is meant; models that cannot do it are refused."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.ablation.job import find_known_task
from headcount.data.tasks import GLUE, find_task
from headcount.errors import InvalidOption, ModelUnavailable
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


def test_what_the_data_are() -> None:
    assert find_known_task("mrpc", None) is GLUE["mrpc"]
    assert find_known_task(TEXTS, "sst2") is GLUE["sst2"]
    assert find_known_task("mrpc", find_task("rte")).name == "rte"
    for data in (TEXTS, "file.csv"):
        with pytest.raises(InvalidOption, match="task="):
            find_known_task(data, None)
