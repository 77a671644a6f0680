"""Is the change between two models on the same examples paired, and does its interval follow the metric?"""

from __future__ import annotations

from typing import Any

import numpy as np

from headcount.ablation.paired import compare_scores
from headcount.data.kinds.metrics import ACCURACY, PERPLEXITY, TOKEN_LOSS
from headcount.data.tasks import find_task

KIND = find_task("causal-lm").kind


def outputs(losses: np.ndarray) -> dict[str, Any]:
    return {"loss": losses, "tokens": np.full(len(losses), 10.0)}


def test_a_shift_of_every_example_is_known_exactly() -> None:
    """Examples differ much, all of them change by 0.1 nats a token: pairing sees it."""
    losses = np.random.default_rng(0).normal(30, 8, 50)
    found = compare_scores([outputs(losses), outputs(losses + 1)], None, TOKEN_LOSS, KIND)
    np.testing.assert_allclose(found.changes[0], 0.1, atol=1e-6)
    assert found.whole[2] - found.whole[1] > 0.3, "alone, the mean is uncertain"
    perplexity = compare_scores([outputs(losses), outputs(losses + 1)], None, PERPLEXITY, KIND)
    base = np.exp(losses.mean() / 10)
    np.testing.assert_allclose(perplexity.changes[0], base * np.expm1(0.1), rtol=1e-6)
    assert perplexity.scores[0] > perplexity.whole[0]


def test_no_change_is_within_the_interval() -> None:
    generator = np.random.default_rng(1)
    losses = generator.normal(30, 8, 50)
    found = compare_scores([outputs(losses), outputs(losses + generator.normal(0, 1, 50))], None, TOKEN_LOSS, KIND)
    assert found.changes[0][1] < 0 < found.changes[0][2]


def test_an_accuracy_has_the_interval_of_proportions() -> None:
    labels = np.zeros(40, dtype=int)
    right = {"logits": np.tile([1.0, 0.0], (40, 1))}
    wrong = {"logits": np.where(np.arange(40)[:, None] < 10, [[0.0, 1.0]], [[1.0, 0.0]])}
    kind = find_task("sst2").kind
    found = compare_scores([right, wrong], labels, ACCURACY, kind)
    assert found.scores == (0.75,)
    assert -0.45 < found.changes[0][1] < -0.25 < found.changes[0][2] < -0.1
