"""Pairs of originals and twins: by their choices, in any order, and what cannot be paired."""

from __future__ import annotations

import pandas as pd
import pytest

import headcount as hc
from headcount.errors import DataProblem
from headcount.statistical_cues.twin_pairs import find_pairs
from tests.statistical_cues.planted import choices
from tests.statistical_cues.test_adversarial import BOTH, negations


@pytest.fixture(scope="module")
def twins() -> pd.DataFrame:
    table = choices(40, 20, 15)
    return hc.adversarial(table, choices=BOTH, negations=negations(table), swap=True)


def test_in_any_order(twins: pd.DataFrame) -> None:
    assert find_pairs(twins, BOTH).tolist() == [[row, 40 + row] for row in range(40)], "and no swapped copy"
    mixed = twins.sample(frac=1, random_state=0)
    for original, twin in find_pairs(mixed, BOTH):
        first, second = mixed.iloc[original], mixed.iloc[twin]
        assert (first["twin"], second["twin"]) == ("original", "negated")
        assert second["claim"] == f"no {first['claim']}"


@pytest.mark.parametrize("values", [(False, True), ("False", "True"), (0, 1), ("original", "negated")])
def test_a_column_of_its_own(twins: pd.DataFrame, values: tuple[object, object]) -> None:
    ready = twins[:80].drop(columns="twin").assign(adversarial=[values[0]] * 40 + [values[1]] * 40)
    assert find_pairs(ready, BOTH).tolist() == [[row, 40 + row] for row in range(40)]
    assert len(find_pairs(ready.rename(columns={"adversarial": "turned"}), BOTH, "turned")) == 40


def test_the_same_choices_more_than_once(twins: pd.DataFrame) -> None:
    double = pd.concat([twins[:1], twins[40:41], twins[:1], twins[40:41]], ignore_index=True)
    assert find_pairs(double, BOTH).tolist() == [[0, 1], [2, 3]]


def test_what_cannot_be_paired(twins: pd.DataFrame) -> None:
    pairs = twins[:80]
    with pytest.raises(DataProblem, match="row 0: no twin has the choices of this original; expected one twin"):
        find_pairs(pairs.drop(index=40), BOTH)
    with pytest.raises(DataProblem, match="row 45: no original has the choices of this twin"):
        find_pairs(pairs.drop(index=5), BOTH)
    with pytest.raises(DataProblem, match="no column 'twin' or 'adversarial' that says which rows are twins; .*claim"):
        find_pairs(pairs.drop(columns="twin"), BOTH)
    with pytest.raises(DataProblem, match="no column 'other' that says"):
        find_pairs(pairs, BOTH, "other")
    with pytest.raises(DataProblem, match="row 0, column 'twin': got 'maybe'; expected original or negated"):
        find_pairs(pairs.assign(twin="maybe"), BOTH)
    with pytest.raises(DataProblem, match="column 'twin' has no twins with negated claims"):
        find_pairs(twins[twins["twin"].isin(["original", "swapped"])], BOTH)
