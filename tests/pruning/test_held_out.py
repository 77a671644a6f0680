"""Are the scores of held-out examples, before and after, those of the task, and their changes those of a sweep?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.data.kinds.metrics import ACCURACY, PERPLEXITY
from headcount.data.tasks import find_task
from headcount.pruning.held_out import HeldOut
from headcount.training.scores import score_table
from tests import planted
from tests.pruning import planted_groups as groups

TEXTS = groups.texts(30)
GONE = ["L0H0-1", "L2H3"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def test_a_perplexity_changes_as_a_sweep_says(tokenizer: Any) -> None:
    """The same numbers and the same interval as for the gated model, in float64."""
    model, task = groups.llama().double(), find_task("causal-lm")
    held_out = HeldOut.read(model, tokenizer, TEXTS, task, PERPLEXITY)
    whole = held_out.outputs(model)
    options: dict[str, Any] = {"task": task, "by": [GONE], "how": "zero", "metric": "perplexity"}
    swept = hc.sweep(model, tokenizer, TEXTS, **options)
    cut = held_out.outputs(hc.prune(model, GONE))
    found = held_out.compare(whole, cut)
    assert found.whole[0] == pytest.approx(float(swept["baseline"]), rel=1e-5)
    assert found.whole[1] < found.whole[0] < found.whole[2]
    assert found.scores[0] == pytest.approx(float(swept["score"][0]), rel=1e-5)
    ends = [float(swept[name][0]) for name in ("delta", "low", "high")]
    np.testing.assert_allclose(found.changes[0], ends, rtol=1e-4)
    losses = whole["loss"].sum() / whole["tokens"].sum()
    assert found.whole[0] == pytest.approx(float(np.exp(losses)))


def test_an_accuracy(tokenizer: Any) -> None:
    model, texts, task = planted.classifier(), planted.texts(60), find_task("sst2")
    held_out = HeldOut.read(model, tokenizer, texts, task, ACCURACY)
    whole = held_out.outputs(model)
    better = held_out.outputs(hc.prune(model, "L0H1"))
    found = held_out.compare(whole, better, whole)
    assert found.whole[0] == pytest.approx(score_table(planted.classifier(), tokenizer, texts, task)["accuracy"])
    assert found.scores == (pytest.approx(1.0), pytest.approx(found.whole[0]))
    assert found.changes[0][1] > 0, "without the head that misleads"
    assert found.changes[1][0] == 0
    assert found.changes[1][1] < 0 < found.changes[1][2]
