"""Scores for any weights of the examples: by sums, by calls of a function, and by scikit-learn on a part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

from headcount.core.score_tables import Calls, Sums
from headcount.data.kinds.metrics import ACCURACY, F1, MATTHEWS


def test_calls_and_sums_agree() -> None:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 2, 50)
    found = [generator.integers(0, 2, 50) for _ in range(4)]
    right = np.stack([predictions == labels for predictions in found])
    sums = Sums(np.stack([right, np.ones_like(right)], -1).astype(float), ACCURACY.combine)
    calls = Calls(found, labels, lambda p, t: float((p == t).mean()), draws=100)
    weights = generator.integers(0, 3, (5, 50))
    np.testing.assert_allclose(sums.scores(weights), calls.scores(weights))
    swaps = generator.integers(0, 2, (5, 50))
    np.testing.assert_allclose(sums.exchanged(swaps), calls.exchanged(swaps))


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(0, 10_000))
def test_scores_of_any_part_are_those_of_the_part(classes: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels, logits = generator.integers(0, classes, 30), generator.normal(size=(30, classes))
    part = generator.random(30) < 0.6
    part[:2] = True
    average = {"average": "binary"} if classes == 2 else {"average": "macro", "labels": range(classes)}
    functions = {F1: lambda t, p: f1_score(t, p, zero_division=0, **average), MATTHEWS: matthews_corrcoef}
    for metric, function in functions.items():
        sums = Sums(metric.features({"logits": logits}, labels)[None], metric.combine)
        found = sums.scores(part[None].astype(float))[0, 0]
        assert found == pytest.approx(function(labels[part], logits.argmax(-1)[part]), abs=1e-9)
