"""Data sets with cues of known applicability, productivity and coverage, and the naive formula for any data set."""

from __future__ import annotations

import numpy as np
import pandas as pd


def choices(rows: int = 200, applicable: int = 80, productive: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two choices a row: "not" is in exactly one of `applicable` rows, of `productive` of these in the correct one.

    "both" is in both choices of every row, which makes it applicable nowhere.
    """
    generator = np.random.default_rng(seed)
    table = []
    for row in range(rows):
        label = row % 2
        texts = [f"Both {' '.join(generator.choice(list('abcdefgh'), 4))} {row}{side}" for side in "xy"]
        if row < applicable:
            texts[label if row < productive else 1 - label] += " not"
        table.append({"claim": f"claim {row}", "first": texts[0], "second": texts[1], "label": label})
    return pd.DataFrame(table).sample(frac=1, random_state=seed).reset_index(drop=True)


def sentences(rows: int = 200, present: int = 80, productive: int = 60, seed: int = 0) -> pd.DataFrame:
    """Single sentences with labels 0 and 1: "great" is in `present` rows, of which `productive` have the label 1."""
    generator = np.random.default_rng(seed)
    labels = np.r_[np.ones(productive), np.zeros(present - productive), np.arange(rows - present) % 2].astype(int)
    texts = [f"{' '.join(generator.choice(list('abcdefgh'), 4))} {row}" for row in range(rows)]
    texts = [f"{text} great" if row < present else text for row, text in enumerate(texts)]
    table = pd.DataFrame({"sentence": texts, "label": labels})
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


def naive_choice(
    table: pd.DataFrame, columns: list[str], cue: tuple[str, ...], applicable: str = "exactly-one"
) -> tuple[int, float, float]:
    """Applicability, productivity and coverage of one cue, by a loop over rows and tokens."""
    count = hits = 0
    for row in table.to_dict("records"):
        having = [has(str(row[column]).lower().split(), cue) for column in columns]
        if sum(having) == 1 or (applicable == "any" and sum(having)):
            count += 1
            hits += having[row["label"]]
    return count, hits / count, count / len(table)


def has(tokens: list[str], cue: tuple[str, ...]) -> bool:
    return any(tuple(tokens[at : at + len(cue)]) == cue for at in range(len(tokens)))
