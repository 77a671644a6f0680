"""Scores as functions of sums over examples: each example has a few features, and their sums give the score.

Scores on parts of the examples, on resamples, and under exchanges between two models are then products of weights and
features, on which `headcount.core.statistics` is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from headcount.errors import MissingPackage

Outputs = Mapping[str, Any]
"""A model's outputs for the examples: `logits` [example, class], `predictions` (tags, texts), `loss`, `tokens`."""


@dataclass(frozen=True)
class Metric:
    """`features(outputs, labels)` are [example, k]; `combine` turns their sums [..., k] into scores."""

    name: str
    features: Callable[[Outputs, Any], np.ndarray]
    combine: Callable[[np.ndarray], np.ndarray]
    higher_is_better: bool = True
    correct: Callable[[Outputs, Any], np.ndarray] | None = None
    """Whether each example is right, if the score is the share of right ones: then McNemar's exact test applies."""
    mean: bool = False
    """Whether the score is, or follows from, a mean of unbounded values, such as a loss."""
    generated: bool = False
    """Whether it scores texts that the model generates, with sacrebleu."""

    @property
    def is_mean(self) -> bool:
        """Whether the score is a mean over examples (or over their tokens), so that examples have shares in it."""
        return self.combine is ratio

    def require(self) -> None:
        """Refuse the metric if the package that computes it is not installed."""
        if self.generated and find_spec("sacrebleu") is None:
            raise MissingPackage(f"the metric {self.name!r} needs sacrebleu: pip install 'headcount[translate]'")

    def score(self, outputs: Outputs, labels: Any) -> float:
        return float(self.combine(self.features(outputs, labels).sum(0)))


def _right(outputs: Outputs, labels: Any) -> np.ndarray:
    return np.asarray(outputs["logits"].argmax(-1) == np.asarray(labels))


def ratio(sums: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _accuracy(outputs: Outputs, labels: Any) -> np.ndarray:
    right = _right(outputs, labels).astype(float)
    return np.stack([right, np.ones_like(right)], -1)


def _tag_accuracy(outputs: Outputs, labels: Any) -> np.ndarray:
    pairs = [
        (sum(p == t for p, t in zip(predicted, tags, strict=True)), len(tags))
        for predicted, tags in zip(outputs["predictions"], labels, strict=True)
    ]
    return np.array(pairs, dtype=float)


def _confusion(outputs: Outputs, labels: Any) -> np.ndarray:
    """One-hot [example, class * class] of label and prediction."""
    classes = outputs["logits"].shape[-1]
    cells = np.asarray(labels) * classes + outputs["logits"].argmax(-1)
    return np.asarray(np.eye(classes * classes)[cells])


def _square(sums: np.ndarray) -> np.ndarray:
    classes = round(sums.shape[-1] ** 0.5)
    return sums.reshape(*sums.shape[:-1], classes, classes)


def _f1(sums: np.ndarray) -> np.ndarray:
    """F1 of class 1 for two classes, the macro F1 for more; 0 if no prediction is right."""
    table = _square(sums)
    right = np.diagonal(table, axis1=-2, axis2=-1)
    total = table.sum(-1) + table.sum(-2)
    scores = np.divide(2 * right, total, out=np.zeros_like(right), where=total > 0)
    return np.asarray(scores[..., 1] if scores.shape[-1] == 2 else scores.mean(-1))


def _matthews(sums: np.ndarray) -> np.ndarray:
    """Matthews correlation coefficient; 0 if all labels or all predictions are of one class."""
    table = _square(sums)
    total, right = table.sum((-1, -2)), np.trace(table, axis1=-2, axis2=-1)
    true, predicted = table.sum(-1), table.sum(-2)
    top = right * total - (true * predicted).sum(-1)
    bottom = np.sqrt((total**2 - (true**2).sum(-1)) * (total**2 - (predicted**2).sum(-1)))
    return np.asarray(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def moments(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # Centred, since sums of squares would lose the digits that matter; by the labels' mean only, so that the features
    # of two models can be exchanged.
    x, y = x - y.mean(), y - y.mean()
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], -1)


def _pearson(outputs: Outputs, labels: Any) -> np.ndarray:
    return moments(outputs["logits"][..., 0].astype(float), np.asarray(labels, dtype=float))


def _spearman(outputs: Outputs, labels: Any) -> np.ndarray:
    """Features of the ranks among all examples, also for the score on a part of them."""
    from scipy.stats import rankdata

    return moments(rankdata(outputs["logits"][..., 0]).astype(float), rankdata(labels).astype(float))


def correlation(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    across, down = n * xx - x * x, n * yy - y * y
    # The correlation of a constant is 0, not the quotient of two rounding errors.
    constant = (across <= 1e-12 * n * xx) | (down <= 1e-12 * n * yy)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (n * xy - x * y) / np.sqrt(across * down)
    return np.asarray(np.where(constant, 0.0, np.nan_to_num(correlation)))


def _token_loss(outputs: Outputs, labels: Any) -> np.ndarray:
    return np.stack([outputs["loss"], outputs["tokens"]], -1).astype(float)


def _completed(outputs: Outputs, labels: Any) -> np.ndarray:
    return np.asarray(outputs["correct_tokens"] == outputs["tokens"])


def _completion_accuracy(outputs: Outputs, labels: Any) -> np.ndarray:
    right = _completed(outputs, labels).astype(float)
    return np.stack([right, np.ones_like(right)], -1)


def _token_accuracy(outputs: Outputs, labels: Any) -> np.ndarray:
    return np.stack([outputs["correct_tokens"], outputs["tokens"]], -1).astype(float)


def _class_loss(outputs: Outputs, labels: Any) -> np.ndarray:
    logits = outputs["logits"].astype(float)
    logits = logits - logits.max(-1, keepdims=True)
    loss = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, np.asarray(labels)[:, None], -1)[:, 0]
    return np.stack([loss, np.ones_like(loss)], -1)


def _squared_error(outputs: Outputs, labels: Any) -> np.ndarray:
    errors = outputs["logits"][..., 0].astype(float) - np.asarray(labels, dtype=float)
    return np.stack([errors**2, np.ones_like(errors)], -1)


def _class_log_probability(outputs: Outputs, labels: Any) -> np.ndarray:
    return _class_loss(outputs, labels) * (-1, 1)


def _text_log_probability(outputs: Outputs, labels: Any) -> np.ndarray:
    return np.stack([-outputs["loss"], np.ones_like(outputs["loss"])], -1).astype(float)


def _difference(outputs: Outputs, labels: Any) -> np.ndarray:
    values = np.asarray(outputs[DIFFERENCE], dtype=float)
    return np.stack([values, np.ones_like(values)], -1)


@cache
def _corpus_metric(name: str) -> Any:
    from sacrebleu.metrics import BLEU, CHRF

    return {"bleu": BLEU, "chrf": CHRF}[name]()


@lru_cache(maxsize=100_000)
def _sentence_counts(name: str, text: str, reference: str) -> tuple[float, ...]:
    """sacrebleu's statistics of a sentence; cached, since most variants of a sweep generate the same text."""
    return tuple(_corpus_metric(name)._extract_corpus_statistics([text], [[reference]])[0])


def _corpus_features(name: str, outputs: Outputs, labels: Any) -> np.ndarray:
    """BLEU and chrF are functions of sums over sentences, too: of matches and lengths, which sacrebleu counts."""
    pairs = zip(outputs["predictions"], labels, strict=True)
    return np.array([_sentence_counts(name, text, reference) for text, reference in pairs], dtype=float)


def _corpus_score(name: str, sums: np.ndarray) -> np.ndarray:
    metric = _corpus_metric(name)
    rows = sums.reshape(-1, sums.shape[-1]).round().astype(int).tolist()
    return np.array([metric._compute_score_from_stats(row).score for row in rows]).reshape(sums.shape[:-1])


def _perplexity(sums: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(ratio(sums)))


DIFFERENCE = "logit_difference"
"""The output [example] that is the logit of the right answer minus that of the wrong one."""
LOGIT_DIFFERENCE = Metric(DIFFERENCE, _difference, ratio, mean=True)
"""For examples with a wrong answer; a sweep keeps the output that it needs (`Kind.contrasts`)."""
CLASS_LOG_PROBABILITY = Metric("log_probability", _class_log_probability, ratio, mean=True)
TEXT_LOG_PROBABILITY = Metric("log_probability", _text_log_probability, ratio, mean=True)
"""Of all labelled tokens of a text together."""
ACCURACY = Metric("accuracy", _accuracy, ratio, correct=_right)
TAG_ACCURACY = Metric("accuracy", _tag_accuracy, ratio)
"""The share of right tags; tags of one text depend on each other, so that no test for proportions applies."""
F1 = Metric("f1", _confusion, _f1)
MATTHEWS = Metric("matthews", _confusion, _matthews)
PEARSON = Metric("pearson", _pearson, correlation)
SPEARMAN = Metric("spearman", _spearman, correlation)
CLASS_LOSS = Metric("loss", _class_loss, ratio, higher_is_better=False, mean=True)
SQUARED_ERROR = Metric("loss", _squared_error, ratio, higher_is_better=False, mean=True)
"""The mean squared error, what a regression is trained on."""
TOKEN_LOSS = Metric("loss", _token_loss, ratio, higher_is_better=False, mean=True)
PERPLEXITY = Metric("perplexity", _token_loss, _perplexity, higher_is_better=False, mean=True)
COMPLETION_ACCURACY = Metric("accuracy", _completion_accuracy, ratio, correct=_completed)
"""The share of completions all of whose tokens are the most probable ones."""
TOKEN_ACCURACY = Metric("token_accuracy", _token_accuracy, ratio)
"""The share of tokens that are the most probable ones; tokens of one text depend on each other."""
BLEU = Metric("bleu", partial(_corpus_features, "bleu"), partial(_corpus_score, "bleu"), generated=True)
CHRF = Metric("chrf", partial(_corpus_features, "chrf"), partial(_corpus_score, "chrf"), generated=True)
