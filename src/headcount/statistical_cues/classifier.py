"""The cue-only classifier: what all cues together would get, the floor that a model must beat.

A logistic regression on the presence of cues, for multiple choice on the differences between choices. Every prediction
is out-of-fold, and the regularisation is selected within the other folds (nested cross-validation).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

STRENGTHS = (0.003, 0.03, 0.3)
"""The values of C, the inverse of the regularisation, that are tried."""
FOLDS = 5
MANY = 10_000
"""With more examples, one of the inner folds selects the regularisation instead of all of them."""

Score = Callable[[np.ndarray], np.ndarray]
"""From the numbers of examples to a score of each of their classes or choices [example, class]."""
Fit = Callable[[np.ndarray, float], Score]
"""From the numbers of the examples to train on and a C to the scores of others."""


@dataclass(frozen=True)
class OutOfFold:
    """`scores` [example, class or choice] by models that never saw the example, and the C of each fold."""

    scores: np.ndarray
    strengths: tuple[float, ...]

    @property
    def predicted(self) -> np.ndarray:
        """[example]: the class or choice with the highest score; -1 if several have it."""
        return np.where(self._ties.sum(1) == 1, self.scores.argmax(1), -1)

    def right(self, labels: np.ndarray) -> np.ndarray:
        """[example]: 1 if it is right, 0 if not, 1 of the number of classes or choices that tie with the right one."""
        share = self._ties / self._ties.sum(1, keepdims=True)
        return np.asarray(share[np.arange(len(labels)), labels])

    @property
    def _ties(self) -> np.ndarray:
        return np.asarray(self.scores >= self.scores.max(1, keepdims=True) - 1e-9)


def classify_choices(parts: Sequence[csr_matrix], labels: np.ndarray, folds: np.ndarray) -> OutOfFold:
    """Multiple choice, from [example, cue] for each choice: the weights are those of a comparison of two choices."""
    choices, examples = len(parts), len(labels)
    stacked = vstack(parts, format="csr").astype(np.float32)
    numbers = np.arange(examples)
    correct = stacked[labels * examples + numbers]
    others = [stacked[(labels + step) % choices * examples + numbers] for step in range(1, choices)]
    differences = [correct - other for other in others]
    del correct, others

    def fit(train: np.ndarray, strength: float) -> Score:
        rows = vstack([difference[train] for difference in differences], format="csr")
        # The sign of a difference is arbitrary. Both must occur, and a regression without an intercept fits both alike.
        positive = np.arange(rows.shape[0]) % 2 == 0
        rows.data *= np.repeat(np.where(positive, 1, -1), np.diff(rows.indptr))
        weights, _ = _fit(rows, positive, strength, intercept=False)

        def score(examined: np.ndarray) -> np.ndarray:
            return np.stack([stacked[choice * examples + examined] @ weights for choice in range(choices)], axis=1)

        return score

    return _out_of_fold(fit, labels, folds, choices)


def classify_labels(matrix: csr_matrix, labels: np.ndarray, classes: int, folds: np.ndarray) -> OutOfFold:
    """Classification, from [example, cue]: a regression for each class against the others."""
    matrix = matrix.astype(np.float64)

    def fit(train: np.ndarray, strength: float) -> Score:
        rows, own = matrix[train], labels[train]
        known = np.flatnonzero(np.bincount(own, minlength=classes))
        models = {}
        for each in known if len(known) > 2 else known[1:]:
            models[int(each)] = _fit(rows, own == each, strength, intercept=True)

        def score(examined: np.ndarray) -> np.ndarray:
            scores = np.full((len(examined), classes), -np.inf)
            if len(known) < 3:
                scores[:, known[0]] = 0.0
            for each, (weights, intercept) in models.items():
                scores[:, each] = matrix[examined] @ weights + intercept
            return scores

        return score

    return _out_of_fold(fit, labels, folds, classes)


def _out_of_fold(fit: Fit, labels: np.ndarray, folds: np.ndarray, classes: int) -> OutOfFold:
    scores, strengths = np.zeros((len(labels), classes)), []
    numbers = np.unique(folds)
    for fold in numbers:
        held_out, inner = np.flatnonzero(folds == fold), numbers[numbers != fold]
        # The fold after the held-out one: another one for each.
        selecting = inner if len(labels) <= MANY else np.roll(inner, -int(np.searchsorted(inner, fold)))[:1]
        right = np.zeros(len(STRENGTHS))
        for validation in selecting if len(inner) > 1 else ():
            train = np.flatnonzero((folds != fold) & (folds != validation))
            test = np.flatnonzero(folds == validation)
            for number, strength in enumerate(STRENGTHS):
                right[number] += OutOfFold(fit(train, strength)(test), ()).right(labels[test]).sum()
        strengths.append(STRENGTHS[int(right.argmax())])
        scores[held_out] = fit(np.flatnonzero(folds != fold), strengths[-1])(held_out)
    return OutOfFold(scores, tuple(strengths))


def _fit(rows: csr_matrix, positive: np.ndarray, strength: float, intercept: bool) -> tuple[np.ndarray, float]:
    """Weights [cue] and intercept of a logistic regression; the dual solver is the fast one for sparse rows."""
    if positive.all():  # a single example
        return np.zeros(rows.shape[1]), 0.0
    model = LogisticRegression(
        C=strength,
        solver="liblinear",
        dual=True,
        tol=1e-2,
        max_iter=200,
        fit_intercept=intercept,
        intercept_scaling=10.0,  # the solver penalises the intercept too: hardly, at this scale
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, positive)
    return model.coef_[0], float(model.intercept_[0]) if intercept else 0.0
