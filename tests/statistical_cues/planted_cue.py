"""Texts with a cue, for the planted model of tests/planted.py: L0H0 carries the label's word, L0H1 carries the cue."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.planted import WORDS

CUES = ["up", "down"]


def texts(count: int = 160, seed: int = 0) -> pd.DataFrame:
    """`good` and `bad` always decide the label; `up` and `down` go with it in three of four texts, and are cues."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label = number % 2
        follows = number // 2 % 4 != 3
        words = list(generator.choice(WORDS[9:], generator.integers(2, 9)))
        words += ["good" if label else "bad", "up" if label == follows else "down"]
        rows.append({"sentence": " ".join(generator.permutation(words)), "label": label})
    return pd.DataFrame(rows)
