"""Are the metrics of rankings those of scikit-learn and of plain loops, ties and absent documents included?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import ndcg_score

from headcount.core.score_tables import Sums
from headcount.data.kinds.ranking import PAIR_SPEARMAN, SCORES, at_depth, expected_gains, listwise_loss

LABELS = [[2.0, 0.0, 1.0, 0.0], [0.0, 3.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]


def outputs(seed: int = 0, tied: bool = False) -> dict[str, Any]:
    """Scores, with numbers that mean nothing beyond the documents of a query."""
    drawn = np.random.default_rng(seed).standard_normal((len(LABELS), 5))
    return {SCORES: (drawn.round() if tied else drawn).astype(np.float32)}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 10])
def test_ndcg_is_that_of_scikit_learn(depth: int, tied: bool) -> None:
    """Which averages over the orders of documents with equal scores."""
    given, metric = outputs(tied=tied), at_depth(f"ndcg@{depth}")
    assert metric is not None
    found = metric.features(given, LABELS)
    expected = [
        ndcg_score([relevance], [scores[: len(relevance)]], k=depth)
        for relevance, scores in zip(LABELS, given[SCORES], strict=True)
    ]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    assert metric.score(given, LABELS) == pytest.approx(np.mean(expected))


def test_recall_is_a_loop() -> None:
    given, metric = outputs(), at_depth("recall@2")
    assert metric is not None
    expected = []
    for relevance, scores in zip(LABELS, given[SCORES], strict=True):
        first = sorted(range(len(relevance)), key=lambda number: -scores[number])[:2]
        expected.append(sum(relevance[number] > 0 for number in first) / sum(value > 0 for value in relevance))
    np.testing.assert_allclose(metric.features(given, LABELS)[:, 0], expected)


def test_equal_scores_are_a_random_order() -> None:
    """Not that of the file, where relevant documents often come first."""
    metric, given = at_depth("recall@1"), {SCORES: np.zeros((1, 4))}
    assert metric is not None
    assert metric.score(given, [[1.0, 0.0, 0.0, 0.0]]) == pytest.approx(0.25)
    assert metric.score(given, [[0.0, 0.0, 0.0, 1.0]]) == pytest.approx(0.25)
    assert expected_gains(np.array([[1.0, 1.0, -np.inf]]), np.array([[4.0, 0.0, 0.0]])).tolist() == [[2.0, 2.0, 0.0]]


def test_spearman_is_over_all_pairs() -> None:
    given = outputs()
    pairs = [
        (score, value)
        for scores, values in zip(given[SCORES], LABELS, strict=True)
        for score, value in zip(scores[: len(values)], values, strict=True)
    ]
    expected = spearmanr(*np.array(pairs, dtype=float).T).statistic
    assert PAIR_SPEARMAN.score(given, LABELS) == pytest.approx(expected)


def test_loss_is_a_loop() -> None:
    given = outputs()
    expected = []
    for values, scores in zip(LABELS, given[SCORES].astype(float), strict=True):
        powers = np.exp(7 * scores[: len(values)])
        expected.append(-np.array(values) @ np.log(powers / powers.sum()) / sum(values))
    np.testing.assert_allclose(listwise_loss(7).features(given, LABELS)[:, 0], expected, rtol=1e-6)


def test_queries_are_what_is_resampled() -> None:
    """A query drawn twice counts twice, with all of its documents."""
    metric = at_depth("ndcg@3")
    assert metric is not None
    given = outputs()
    table = Sums(np.stack([metric.features(given, LABELS)]), metric.combine)
    twice = {SCORES: given[SCORES][[0, 0, 2]]}
    assert table.examples == len(LABELS)
    assert table.scores(np.array([[2, 0, 1, 0]]))[0, 0] == pytest.approx(
        metric.score(twice, [LABELS[0], LABELS[0], LABELS[2]])
    )
