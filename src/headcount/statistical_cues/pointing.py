"""Which way cues point: the cues that are counted, those that are tested, and what they predict for each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.core.claims import LEVEL, significant
from headcount.errors import DataProblem, InvalidOption, listed, short
from headcount.statistical_cues.classifier import FOLDS, OutOfFold, classify_choices, classify_labels
from headcount.statistical_cues.folds import make_folds
from headcount.statistical_cues.presence import find_cues
from headcount.statistical_cues.productivity import (
    choice_entries,
    choice_statistics,
    label_counts,
    label_statistics,
    rank_tested,
)
from headcount.statistical_cues.reading import CueData
from headcount.statistical_cues.tokenize import split_texts


@dataclass(frozen=True)
class Counting:
    """What is counted and how."""

    applicable: str
    tokens: str
    cased: bool
    bigrams: bool
    least: int
    top: int | None = None
    classifier: bool = True


@dataclass(frozen=True)
class Pointing:
    """The cues that give labels away, and what they predict: `predicted` [example] is -1 where they point nowhere.

    `right` [example]: 1 where the prediction is right, 0 where it is wrong, in between where there is none.
    """

    cues: tuple[str, ...]
    predicted: np.ndarray
    right: np.ndarray


def count_cues(read: CueData, counting: Counting, tokenizer: Any) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """[example, cue] for each choice, or for the texts of a classification together; the cues and their sizes."""
    columns = list(zip(*read.texts, strict=True))
    split = split_texts([text for column in columns for text in column], counting.tokens, counting.cased, tokenizer)
    presence = find_cues(split, counting.bigrams, counting.least)
    parts = [presence.matrix[number * len(read) : (number + 1) * len(read)] for number in range(len(columns))]
    if not read.is_choice:
        together = sum(parts[1:], start=parts[0].copy())
        together.data[:] = 1  # in the first text, in the second or in both
        parts = [together]
    return parts, presence.names, presence.sizes


def tested_cues(
    statistics: dict[str, np.ndarray], names: np.ndarray, counting: Counting
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the cues that are applicable often enough, strongest first, and their q-values."""
    order, q = rank_tested(statistics, names, counting.least)
    if not len(order):
        most = int(statistics["applicability"].max(initial=0))
        raise DataProblem(
            f"no cue is applicable to {counting.least} examples (the most frequent one to {most}); expected more "
            "examples, or a smaller number with least="
        )
    return order, q


def classify(read: CueData, parts: list[Any], groups: np.ndarray, seed: int) -> OutOfFold:
    """The predictions of a classifier that sees nothing but the cues of `parts`, out-of-fold."""
    folds = make_folds(groups, min(FOLDS, int(groups.max()) + 1), seed)
    if read.is_choice:
        return classify_choices(parts, read.labels, folds)
    return classify_labels(parts[0], read.labels, len(read.names), folds)


def point(
    read: CueData, counting: Counting, tokenizer: Any, groups: np.ndarray, only: Sequence[str] | None, seed: int
) -> Pointing:
    """What all tested cues predict for each example, or the named ones alone, on the examples that have them.

    `cues` are the named ones, or those whose productivity differs significantly from chance.
    """
    parts, names, _ = count_cues(read, counting, tokenizer)
    if only is not None:
        chosen = _numbers(names, only, counting)
        cues = tuple(str(names[number]) for number in chosen)
    else:
        if read.is_choice:
            statistics = choice_statistics(choice_entries(parts, read.labels, counting.applicable), len(read))
        else:
            totals = np.bincount(read.labels, minlength=len(read.names))
            statistics = label_statistics(label_counts(parts[0], read.labels, len(read.names)), totals)
        chosen, q = tested_cues(statistics, names, counting)
        cues = tuple(str(name) for name in names[chosen[significant(q)]])
        if not cues:
            raise DataProblem(
                f"none of {len(chosen):,} cues has a productivity that differs significantly from chance (q < {LEVEL}) "
                f"in {len(read):,} examples: expected cues that a head could carry; give more examples, or name cues "
                "with cue="
            )
    parts = [part[:, chosen] for part in parts]
    predictions = classify(read, parts, groups, seed)
    predicted, right = predictions.predicted, predictions.right(read.labels).astype(float)
    if only is not None:
        present = np.stack([np.asarray(part.sum(1)).ravel() > 0 for part in parts]).any(0)
        predicted, right = np.where(present, predicted, -1), np.where(present, right, 0.5)
    return Pointing(cues, predicted, right)


def _numbers(names: np.ndarray, only: Sequence[str], counting: Counting) -> np.ndarray:
    wanted = [name if counting.cased or counting.tokens == "pieces" else name.lower() for name in only]
    known = {str(name): number for number, name in enumerate(names)}
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        got = f"the cue {short(unknown[0])}" if unknown else "no cue"
        raise InvalidOption(
            f"got {got}; expected words or bigrams of at least {counting.least} texts, such as {listed(names[:3])}"
        )
    return np.array([known[name] for name in dict.fromkeys(wanted)])
