"""What the loss of heads does where cues are right and where they are wrong.

A model's evidence for the right label of an example is its log-odds, log p / (1 - p). Where cues point to the right
label they add to it, where they point to a wrong one they take from it. *Reliance* on cues is therefore the mean
log-odds where cues are right minus the mean where they are wrong, and a head carries cues if reliance changes without
it. Anything that weakens the model weakens its reliance too. The control is the evidence that does not depend on cues,
the mean of the two parts: a head that merely weakens the model takes the same share of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from headcount.core.mean_changes import MeanChanges, mean_changes
from headcount.core.proportions import count_changes, tango_interval
from headcount.core.statistics import interval, resamples

DRAWS = 1000
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A value and its interval."""


@dataclass(frozen=True)
class Parts:
    """The examples for which cues are right and those for which they are wrong, as flags [example]."""

    right: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, cues_right: np.ndarray) -> Parts:
        return cls(cues_right == 1, cues_right == 0)

    def at(self, chosen: np.ndarray) -> Parts:
        """Of some of the examples."""
        return Parts(self.right[chosen], self.wrong[chosen])


def log_odds(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """[..., example]: log p / (1 - p) of the right label, from logits [..., example, class].

    >>> log_odds(np.array([[2.0, 0.0], [2.0, 0.0]]), np.array([0, 1])).round(6).tolist()
    [2.0, -2.0]
    """
    logs = log_softmax(logits.astype(float), axis=-1)
    chosen = np.broadcast_to(labels[:, None], (*logs.shape[:-1], 1))
    others = logs.copy()
    np.put_along_axis(others, chosen, -np.inf, -1)
    return np.asarray(np.take_along_axis(logs, chosen, -1)[..., 0] - logsumexp(others, axis=-1))


def change_of_reliance(changes: np.ndarray, parts: Parts, seed: int, tests: int | None = None) -> MeanChanges:
    """The change of reliance for changes [V, example] of log-odds, with a test and an interval.

    The two parts are independent samples: each example stands for its share of the difference of their means, so that
    the standard error is Welch's, and the test is the bootstrap-t of a mean.
    """
    count = int(parts.right.sum() + parts.wrong.sum())
    mean_right, mean_wrong = (changes[:, part].mean(1, keepdims=True) for part in (parts.right, parts.wrong))
    difference = mean_right - mean_wrong
    standing = np.concatenate(
        [
            difference + count / parts.right.sum() * (changes[:, parts.right] - mean_right),
            difference - count / parts.wrong.sum() * (changes[:, parts.wrong] - mean_wrong),
        ],
        axis=1,
    )
    return mean_changes(standing, np.ones(standing.shape[1]), seed, tests)


def resampled(values: np.ndarray, parts: Parts, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """[V, 1 + draw]: reliance and evidence, of the examples and then of resamples of each part."""
    means = []
    for number, part in enumerate((parts.right, parts.wrong)):
        chosen = values[:, part]
        weights = resamples(chosen.shape[1], DRAWS, seed + number).astype(float)
        means.append(np.concatenate([chosen.mean(1, keepdims=True), chosen @ weights / chosen.shape[1]], axis=1))
    right, wrong = means
    return right - wrong, (right + wrong) / 2


def as_triple(samples: np.ndarray) -> Triple:
    """The value and the interval of [V, 1 + draw]."""
    low, high = interval(samples[:, 1:].T)
    return samples[:, 0], low, high


def selectivity(baseline: np.ndarray, changes: np.ndarray, parts: Parts, seed: int) -> Triple:
    """The share of reliance that is lost minus the share of evidence that is lost, for each variant.

    NaN where the model is not shown to rely on cues, or to have evidence beyond them: a share of it means nothing then.
    """
    reliance, evidence = resampled(baseline[None], parts, seed)
    if min(as_triple(reliance)[1][0], as_triple(evidence)[1][0]) <= 0:
        unknown = np.full(len(changes), np.nan)
        return unknown, unknown, unknown
    lost_reliance, lost_evidence = resampled(changes, parts, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return as_triple(lost_evidence / evidence - lost_reliance / reliance)


def accuracy_changes(baseline: np.ndarray, variants: np.ndarray, part: np.ndarray) -> Triple:
    """The change of accuracy [V] on a part of the examples, from right/wrong [example] and [V, example]."""
    before, after = baseline[part], variants[:, part]
    lost, won = count_changes(before, after)
    low, high = tango_interval(lost, won, max(1, int(part.sum())), 0.95)
    return (won - lost) / max(1, int(part.sum())), low, high
