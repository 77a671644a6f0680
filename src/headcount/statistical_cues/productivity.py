"""Applicability, productivity and coverage of every cue, with intervals and a test against chance.

Multiple choice (Niven and Kao 2019): a cue is *applicable* to an example if exactly one of its m choices has it
(`exactly-one`), its *productivity* is the share of these examples whose correct choice has it, its *coverage* the share
of all examples that it is applicable to, and it is useful if its productivity is above 1/m. With `any`, a cue is
applicable if at least one choice has it; chance is then the mean share of the choices that have it.

Classification: a cue is applicable to an example whose text has it. Its label is the most frequent one of these
examples, its productivity the share of this label among them, and chance the base rate of this label in all examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix, vstack
from scipy.stats import norm

from headcount.core.proportions import binomial_test, wilson_interval
from headcount.core.schema import Schema
from headcount.core.statistics import false_discovery

APPLICABLE = ("exactly-one", "any")
_PAPER = "Niven and Kao 2019"
SCHEMAS = {
    "size": Schema("Size", "tokens", range=(1, 2)),
    "applicability": Schema("Applicability", "examples", "that the cue is applicable to", (0, None), paper=_PAPER),
    "productivity": Schema(
        "Productivity", "share", "1: wherever it is applicable, the cue gives the label away", (0, 1), paper=_PAPER
    ),
    "coverage": Schema("Coverage", "share", "1: applicable to all examples", (0, 1), paper=_PAPER),
    "chance": Schema("Chance", "share", "a cue is useful if its productivity is above it", (0, 1), paper=_PAPER),
    "useful": Schema("Useful", "", "1: productivity above chance", (0, 1), paper=_PAPER),
    "alone": Schema("Accuracy of this cue alone", "share", "on the examples that it was counted in", (0, 1)),
    "p": Schema("p-value", "", "two-sided, against chance", (0, 1)),
    "q": Schema("q-value", "", "p-value corrected for the number of cues (Benjamini and Hochberg)", (0, 1)),
    "label_of_cue": Schema("Label", "", "the most frequent label of the examples with the cue"),
}


@dataclass(frozen=True)
class Entries:
    """Where which cue is applicable: an entry for each pair of an example and a cue.

    `holding`: how many of the `choices` have the cue; `hit`: whether the correct one has it.
    """

    examples: np.ndarray
    cues: np.ndarray
    holding: np.ndarray
    hit: np.ndarray
    choices: int
    count: int
    """Number of cues."""

    def keep(self, kept: np.ndarray) -> Entries:
        """Some of the entries, given as a flag for each."""
        fields = {name: getattr(self, name)[kept] for name in ("examples", "cues", "holding", "hit")}
        return replace(self, **fields)

    def of(self, chosen: np.ndarray) -> Entries:
        """The entries of some examples, given as a flag for each example."""
        return self.keep(chosen[self.examples])

    def total(self, weights: np.ndarray | None = None) -> np.ndarray:
        """[cue]: the number of its entries, or the sum of their weights."""
        return np.bincount(self.cues, weights, minlength=self.count)

    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """[cue]: examples gained over guessing by taking a choice that has the cue, and by taking one that has not."""
        others = np.maximum(self.choices - self.holding, 1)
        follow = np.where(self.hit, 1 / self.holding, 0.0) - 1 / self.choices
        avoid = np.where(self.hit, 0.0, 1 / others) - 1 / self.choices
        avoid[self.holding == self.choices] = 0.0  # no other choice: a guess
        return self.total(follow), self.total(avoid)


def choice_entries(parts: Sequence[csr_matrix], labels: np.ndarray, applicable: str) -> Entries:
    """The entries of multiple-choice data, from [example, cue] for each choice and the number of the correct one."""
    choices, examples = len(parts), len(labels)
    correct = vstack(parts, format="csr")[labels * examples + np.arange(examples)]
    # Two numbers in one: how many choices have the cue, and whether the correct one has it.
    both = sum(parts[1:], start=parts[0].copy()) + (choices + 1) * correct
    hit, holding = np.divmod(both.data, choices + 1)
    rows = np.repeat(np.arange(examples, dtype=np.int32), np.diff(both.indptr))
    kept = slice(None) if applicable == "any" else holding == 1
    return Entries(rows[kept], both.indices[kept], holding[kept], hit[kept].astype(bool), choices, parts[0].shape[1])


def choice_statistics(entries: Entries, examples: int) -> dict[str, np.ndarray]:
    """By name, the statistics [cue] of multiple-choice data."""
    applicable, hits = entries.total(), entries.total(entries.hit)
    shares = entries.holding / entries.choices
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(applicable > 0, entries.total(shares) / applicable, 1 / entries.choices)
    follow, avoid = entries.gains()
    statistics = _shares(applicable, hits, examples, chance)
    statistics["alone"] = 1 / entries.choices + np.maximum(follow, avoid) / examples
    return statistics | {"p": _choice_test(entries)}


def _choice_test(entries: Entries) -> np.ndarray:
    """[cue]: p-values against random choices; where all choices have the cue, the example says nothing."""
    open_to = entries.keep(entries.holding < entries.choices)
    applicable, hits = open_to.total(), open_to.total(open_to.hit)
    shares = open_to.holding / open_to.choices
    expected, variance = open_to.total(shares), open_to.total(shares * (1 - shares))
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = binomial_test(hits, applicable, np.where(applicable > 0, expected / applicable, 0.5))
        # Chance differs between examples: a normal approximation with a correction for continuity.
        beyond = np.maximum(np.abs(hits - expected) - 0.5, 0) / np.sqrt(variance)
    alike = np.isclose(open_to.total(shares**2) * applicable, expected**2)
    return np.where(alike | (applicable == 0), exact, 2 * norm.sf(np.nan_to_num(beyond)))


def label_counts(matrix: csr_matrix, labels: np.ndarray, classes: int) -> np.ndarray:
    """[label, cue]: the number of examples with the label and the cue."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    codes = labels[rows].astype(np.int64) * matrix.shape[1] + matrix.indices
    return np.bincount(codes, minlength=classes * matrix.shape[1]).reshape(classes, matrix.shape[1])


def label_statistics(counts: np.ndarray, totals: np.ndarray) -> dict[str, np.ndarray]:
    """By name, the statistics [cue] of a classification, from [label, cue] counts and the counts of the labels."""
    examples = int(totals.sum())
    applicable, hits, label = counts.sum(0), counts.max(0, initial=0), counts.argmax(0)
    base_rate = (totals / examples)[label]
    statistics = _shares(applicable, hits, examples, base_rate)
    statistics["alone"] = (hits + (totals[:, None] - counts).max(0)) / examples
    # The label was chosen among several. Of two, the test of one is that of the other.
    tries = len(totals) if len(totals) > 2 else 1
    statistics["p"] = np.minimum(1.0, tries * binomial_test(hits, applicable, base_rate))
    return statistics | {"label_of_cue": label}


def _shares(applicable: np.ndarray, hits: np.ndarray, examples: int, chance: np.ndarray) -> dict[str, np.ndarray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        productivity = hits / applicable
    low, high = wilson_interval(hits, applicable)
    coverage_low, coverage_high = wilson_interval(applicable, np.full(len(applicable), examples))
    return {
        "applicability": applicable,
        "productivity": productivity,
        "productivity_low": low,
        "productivity_high": high,
        "coverage": applicable / examples,
        "coverage_low": coverage_low,
        "coverage_high": coverage_high,
        "chance": chance,
        "useful": productivity > chance,
    }


def rank_tested(statistics: dict[str, np.ndarray], names: np.ndarray, least: int) -> tuple[np.ndarray, np.ndarray]:
    """The cues that are applicable to at least `least` examples, strongest first, and their q-values.

    The order is that of their accuracy alone, then of their p-value, then of the alphabet.
    """
    tested = np.flatnonzero(statistics["applicability"] >= least)
    q = false_discovery(statistics["p"][tested])
    alone = np.round(statistics["alone"][tested], 12)
    order = np.lexsort((names[tested].astype(str), statistics["p"][tested], -alone))
    return tested[order], q[order]
