"""Metrics of rankings: how well the scores of a query's documents agree with what judges say of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from headcount.data.kinds.metrics import Metric, Outputs, correlation, moments, ratio

SCORES = "document_scores"
"""The output [query, document] that ranks a query's documents; what is beyond their number means nothing."""
ABSENT = -1.0
"""The judgement in place of a document that is not there."""


def judged(labels: Sequence[Sequence[float]], width: int) -> np.ndarray:
    """[query, document]: the judgements as an array, filled up with `ABSENT`."""
    filled = np.full((len(labels), width), ABSENT)
    for row, values in zip(filled, labels, strict=True):
        row[: len(values)] = values
    return filled


def expected_gains(scores: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """[query, rank]: the gain at each rank, for scores and gains [query, document]; absent documents score -inf.

    Of documents with equal scores, each rank among them gets their mean gain: what a random order would on average
    (McSherry and Najork 2008). Otherwise a model whose scores are all equal would be as good as the order of the file.

    >>> expected_gains(np.array([[0.5, 0.9, 0.5]]), np.array([[1.0, 0.0, 0.0]])).tolist()
    [[0.0, 0.5, 0.5]]
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered, gained = np.take_along_axis(scores, order, 1), np.take_along_axis(gains, order, 1)
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    group = np.cumsum(new.ravel()) - 1  # a row begins with a new group
    means = np.bincount(group, gained.ravel()) / np.bincount(group)
    return np.asarray(means[group].reshape(ordered.shape))


def _ranked(outputs: Outputs, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The scores, -inf for absent documents, and the gains [query, document]."""
    scores = np.asarray(outputs[SCORES], dtype=float)
    known = judged(labels, scores.shape[1])
    return np.where(known == ABSENT, -np.inf, scores), np.maximum(known, 0)


def _ndcg(depth: int, outputs: Outputs, labels: Any) -> np.ndarray:
    scores, gains = _ranked(outputs, labels)
    discounts = 1 / np.log2(np.arange(2, 2 + gains.shape[1]))
    discounts[depth:] = 0
    best = -np.sort(-gains, axis=1) @ discounts
    return np.stack([(expected_gains(scores, gains) @ discounts) / best, np.ones(len(best))], -1)


def _recall(depth: int, outputs: Outputs, labels: Any) -> np.ndarray:
    scores, gains = _ranked(outputs, labels)
    relevant = (gains > 0).astype(float)
    return np.stack([expected_gains(scores, relevant)[:, :depth].sum(1) / relevant.sum(1), np.ones(len(gains))], -1)


def _listwise_loss(scale: float, outputs: Outputs, labels: Any) -> np.ndarray:
    scores, gains = _ranked(outputs, labels)
    scores = scale * (scores - scores.max(1, keepdims=True))
    log_shares = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    shares = gains / gains.sum(1, keepdims=True)
    # An absent document has a share of 0, and the log of 0 as its score.
    return np.stack([-(shares * np.where(shares > 0, log_shares, 0)).sum(1), np.ones(len(gains))], -1)


def _pair_ranks(outputs: Outputs, labels: Any) -> np.ndarray:
    """Sums over a query's documents, of their ranks among all pairs of a query and a document."""
    from scipy.stats import rankdata

    scores = np.asarray(outputs[SCORES], dtype=float)
    known = judged(labels, scores.shape[1])
    there = known != ABSENT
    parts = np.zeros((*known.shape, 6))
    parts[there] = moments(rankdata(scores[there]), rankdata(known[there]))
    sums: np.ndarray = parts.sum(1)
    return sums


@cache
def at_depth(name: str) -> Metric | None:
    """The metric `ndcg@K` or `recall@K` for any K, None for other names.

    >>> at_depth("ndcg@10").name, at_depth("recall@0"), at_depth("accuracy")
    ('ndcg@10', None, None)
    """
    match = re.fullmatch(r"(ndcg|recall)@([1-9]\d*)", name)
    if match is None:
        return None
    features = {"ndcg": _ndcg, "recall": _recall}[match[1]]
    return Metric(name, partial(features, int(match[2])), ratio)


def listwise_loss(scale: float) -> Metric:
    """The mean cross entropy between a query's judgements, as shares, and the softmax of its scores times `scale`."""
    return Metric("loss", partial(_listwise_loss, scale), ratio, higher_is_better=False, mean=True)


PAIR_SPEARMAN = Metric("spearman", _pair_ranks, correlation)
"""Over all pairs of a query and a document together; queries are what is resampled."""
