"""The wrong class or choice that the right one is compared with: a column's, or the other one of two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.errors import DataProblem

if TYPE_CHECKING:
    from headcount.data.examples import Examples


def wrong_classes(examples: Examples, given: np.ndarray | None, count: int) -> list[Any]:
    """Class numbers; without a column, of two classes the other one. `count`: how many classes the model has."""
    labels = np.asarray(examples.labels)
    if given is None:
        if count > 2:
            raise DataProblem(
                "there is no column of wrong answers, and more than two classes; name one with wrong=, or take the "
                "metric log_probability"
            )
        return [int(1 - label) for label in labels]
    same = np.flatnonzero(given == labels)
    if len(same):
        raise DataProblem(
            f"{examples.where(int(same[0]))}: the wrong answer is the right one; expected another ({len(same)} of "
            f"{len(labels)} rows are so)"
        )
    return [int(label) for label in given]
