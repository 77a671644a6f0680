"""From examples to token ids: one unpadded encoding each, truncated to what the model takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount.data.examples import Examples
from headcount.data.kinds.tokens import Encoding
from headcount.errors import DataProblem, short


@dataclass(frozen=True)
class Encodings:
    """An encoding for each example (for multiple choice, with a list for each choice), and how many were truncated.

    `lengths`: how many tokens of a batch each takes.
    """

    rows: list[Encoding]
    lengths: np.ndarray
    cut: int
    limit: int


def encode(examples: Examples, tokenizer: Any, limit: int, seed: int = 0) -> Encodings:
    """The encodings of all examples; texts of more than `limit` tokens are truncated and counted."""
    kind = examples.task.kind
    rows, cut = kind.encode(examples, tokenizer, limit, seed)
    blank = next((number for number, row in enumerate(rows) if kind.nothing_left(row)), None)
    if blank is not None:
        raise DataProblem(
            f"{examples.where(blank)}: nothing to look at or to predict in {short(examples.texts[blank])}; leave it out"
        )
    return Encodings(rows, np.array([kind.size(row) for row in rows]), cut, limit)
