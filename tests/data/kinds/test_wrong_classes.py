"""The wrong class: of two the other one, of more a column's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from headcount.data.examples import read_examples
from headcount.data.kinds.wrong_classes import wrong_classes
from headcount.data.tasks import find_task
from headcount.errors import DataProblem

TABLE = pd.DataFrame({"text": ["a", "b", "c"], "label": ["no", "yes", "no"]})
EXAMPLES = read_examples(TABLE, find_task("classification"), {0: "no", 1: "yes"})


def test_of_two_classes_the_other() -> None:
    assert wrong_classes(EXAMPLES, None, 2) == [1, 0, 1]


def test_of_more_a_column() -> None:
    three = replace(EXAMPLES, labels=np.array([0, 2, 1]))
    with pytest.raises(DataProblem, match="more than two classes; name one with wrong="):
        wrong_classes(three, None, 3)
    # A model of three classes whose third no row has.
    with pytest.raises(DataProblem, match="more than two classes"):
        wrong_classes(EXAMPLES, None, 3)
    assert wrong_classes(three, np.array([1, 0, 2]), 3) == [1, 0, 2]
    with pytest.raises(DataProblem, match=r"row 1: the wrong answer is the right one.*1 of 3"):
        wrong_classes(three, np.array([1, 2, 2]), 3)
