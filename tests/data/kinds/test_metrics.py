"""Metrics against scikit-learn, scipy and sacrebleu."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sacrebleu
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

from headcount.data.kinds.metrics import (
    ACCURACY,
    BLEU,
    CHRF,
    CLASS_LOSS,
    F1,
    MATTHEWS,
    PEARSON,
    PERPLEXITY,
    SPEARMAN,
    SQUARED_ERROR,
    Metric,
)
from headcount.errors import MissingPackage

GENERATOR = np.random.default_rng(0)
LABELS, LOGITS = GENERATOR.integers(0, 2, 200), GENERATOR.normal(size=(200, 2))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [(ACCURACY, accuracy_score), (F1, f1_score), (MATTHEWS, matthews_corrcoef)],
)
def test_classification(metric: Metric, expected: object) -> None:
    assert metric.score({"logits": LOGITS}, LABELS) == pytest.approx(expected(LABELS, LOGITS.argmax(-1)))  # type: ignore[operator]


def test_losses() -> None:
    chances = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
    assert CLASS_LOSS.score({"logits": LOGITS}, LABELS) == pytest.approx(log_loss(LABELS, chances))
    outputs = {"loss": np.array([2.0, 4.0]), "tokens": np.array([1, 3])}
    assert PERPLEXITY.score(outputs, None) == pytest.approx(np.exp(1.5))


def test_correlations() -> None:
    truth = LOGITS[:, 0] + GENERATOR.normal(size=200) + 100
    assert PEARSON.score({"logits": LOGITS[:, :1]}, truth) == pytest.approx(
        stats.pearsonr(LOGITS[:, 0], truth).statistic, abs=1e-6
    )
    assert SPEARMAN.score({"logits": LOGITS[:, :1]}, truth) == pytest.approx(
        stats.spearmanr(LOGITS[:, 0], truth).statistic
    )


def test_translation_scores_are_sacrebleus() -> None:
    found = ["the cat sat on the mat today", "a dog barks loudly at night", "nothing alike here at all"]
    truth = ["the cat sat on a mat today", "the dog barks loudly at night", "something else was said there"]
    assert BLEU.score({"predictions": found}, truth) == pytest.approx(sacrebleu.corpus_bleu(found, [truth]).score)
    assert CHRF.score({"predictions": found}, truth) == pytest.approx(sacrebleu.corpus_chrf(found, [truth]).score)


def test_one_class_only_is_no_error() -> None:
    assert MATTHEWS.score({"logits": LOGITS}, np.zeros(200, dtype=int)) == 0
    assert F1.score({"logits": np.tile([1.0, 0.0], (200, 1))}, np.zeros(200, dtype=int)) == 0


def test_what_sacrebleu_counts_needs_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    BLEU.require()
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    ACCURACY.require()
    with pytest.raises(
        MissingPackage, match=r"the metric 'bleu' needs sacrebleu: pip install 'headcount\[translate\]'"
    ):
        BLEU.require()


def test_the_loss_of_a_regression_is_its_mean_squared_error() -> None:
    predicted, labels = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 3.0, 1.0])
    features = SQUARED_ERROR.features({"logits": predicted}, labels)
    assert SQUARED_ERROR.combine(features.sum(0)) == pytest.approx((0 + 1 + 9) / 3)
    assert not SQUARED_ERROR.higher_is_better
