"""How good names are: macro F1 with its interval, the confusion, calibration, and how far shares are off."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix, f1_score

from headcount.patterns.naming import PATTERNS

DRAWS = 2000
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The edges between which `sure` is compared with how often the name is right."""
TEMPERATURES = np.exp(np.linspace(np.log(0.3), np.log(4), 60))


def soften(chances: np.ndarray, temperature: float) -> np.ndarray:
    """Chances whose logits are divided by a temperature."""
    logits = np.log(np.clip(chances, 1e-12, None)) / temperature
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    whole: np.ndarray = shifted / shifted.sum(-1, keepdims=True)
    return whole


def find_temperature(chances: np.ndarray, labels: np.ndarray) -> float:
    """The temperature under which the labels are likeliest."""
    rows = np.arange(len(labels))
    losses = [-np.log(soften(chances, one)[rows, labels].clip(1e-12)).mean() for one in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmin(losses))])


def macro_f1(labels: np.ndarray, names: np.ndarray) -> float:
    """The mean F1 of the patterns that some of the labels have."""
    return float(f1_score(labels, names, average="macro", labels=np.unique(labels), zero_division=0))


def interval(labels: np.ndarray, names: np.ndarray, family: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """95 % interval of macro F1: families are drawn with replacement, and heads within them."""
    rng = np.random.default_rng(0)
    counts: dict[str, np.ndarray] = {}
    for one in sorted(set(family)):
        heads = pd.Series(group[family == one])
        inside = [
            confusion_matrix(labels[family == one][rows], names[family == one][rows], labels=range(len(PATTERNS)))
            for rows in heads.groupby(heads).indices.values()
        ]
        counts[one] = np.array(inside)
    drawn = []
    for _ in range(DRAWS):
        whole = np.zeros((len(PATTERNS), len(PATTERNS)))
        for one in rng.choice(list(counts), len(counts)):
            heads_of = counts[one]
            whole += heads_of[rng.integers(0, len(heads_of), len(heads_of))].sum(0)
        drawn.append(f1_of(whole)[whole.sum(1) > 0].mean())
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def f1_of(confusion: np.ndarray) -> np.ndarray:
    """F1 of each pattern from a confusion [label, name]."""
    right = np.diag(confusion)
    found: np.ndarray = 2 * right / np.maximum(confusion.sum(0) + confusion.sum(1), 1)
    return found


def reliability(chances: np.ndarray, labels: np.ndarray) -> list[dict[str, float]]:
    """For each range of `sure`: how many maps, the mean of `sure`, and how often the name is right."""
    sure, right = chances.max(-1), chances.argmax(-1) == labels
    rows = []
    for low, high in pairwise(BINS):
        part = (sure >= low) & ((sure < high) | (high == 1.0))
        if part.any():
            mean, share = float(sure[part].mean()), float(right[part].mean())
            rows.append({"from": low, "to": high, "maps": int(part.sum()), "sure": mean, "right": share})
    return rows


def calibration_error(chances: np.ndarray, labels: np.ndarray) -> float:
    """The expected calibration error: how far `sure` is from being right, over the ranges."""
    rows = reliability(chances, labels)
    return sum(row["maps"] * abs(row["sure"] - row["right"]) for row in rows) / len(labels)


def shares_of(names: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The share of each pattern among maps that stand for so many each."""
    counted: np.ndarray = np.bincount(names, weight, len(PATTERNS)) / weight.sum()
    return counted


def share_errors(table: pd.DataFrame, labels: np.ndarray, names: np.ndarray) -> pd.DataFrame:
    """For each stack of each model and each pattern the share by names and by labels.

    Maps that were looked for because they are rare do not count.
    """
    rows = []
    drawn = table["stands_for"].notna().to_numpy()
    for (model, stack), part in table.groupby(["model", "stack"]).indices.items():
        part = part[drawn[part]]
        weight = table["stands_for"].to_numpy()[part]
        told, true = shares_of(names[part], weight), shares_of(labels[part], weight)
        for number, pattern in enumerate(PATTERNS):
            family = table["family"].to_numpy()[part[0]]
            rows.append(
                {
                    "family": family,
                    "model": model,
                    "stack": stack,
                    "pattern": pattern,
                    "named": told[number],
                    "labelled": true[number],
                    "maps": len(part),
                }
            )
    return pd.DataFrame(rows)


def share_width(errors: pd.DataFrame, level: float = 0.95) -> float:
    """How wide a share's interval must be to cover: in units of `sqrt(share * (1 - share) + FLOOR)`.

    The smallest number that covers this share of the errors seen, with one more that no number would cover.
    """
    scores = np.sort((errors["named"] - errors["labelled"]).abs() / unit(errors["named"].to_numpy()))
    place = min(int(np.ceil(level * (len(scores) + 1))), len(scores))
    return float(scores[place - 1])


FLOOR = 0.02
"""Keeps the interval of a share of 0 or 1 from being a point."""


def unit(share: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.sqrt(share * (1 - share) + FLOOR)
    return found


def coverage(errors: pd.DataFrame) -> float:
    """How often the interval covers the labelled share of a family whose errors did not make it."""
    covered = []
    for family in errors["family"].unique():
        part = errors["family"] == family
        width = share_width(errors[~part])
        one = errors[part]
        covered += ((one["named"] - one["labelled"]).abs() <= width * unit(one["named"].to_numpy())).tolist()
    return float(np.mean(covered))
