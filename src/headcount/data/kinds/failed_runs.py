"""Whether a training run failed: its scores on the training examples are those of a constant prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def guesses_largest_class(scores: Mapping[str, float], labels: Any) -> bool:
    """Whether scores are no better than always predicting the largest class; if chance is 0, whether above 0.

    >>> guesses_largest_class({"accuracy": 0.75}, [0, 1, 1, 1]), guesses_largest_class({"accuracy": 1.0}, [0, 1, 1, 1])
    (True, False)
    """
    accuracy = scores.get("accuracy")
    if accuracy is None:
        return next(iter(scores.values())) <= 0
    return bool(accuracy <= np.bincount(np.asarray(labels)).max() / len(labels))
