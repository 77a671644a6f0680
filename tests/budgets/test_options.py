"""Do options that change the result keep a stored one from being read, and are values that cannot be refused?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headcount.budgets.budget import Budget
from headcount.budgets.options import PartOptions
from headcount.errors import InvalidOption

HALF = Budget.parse(operations="50%")
OPTIONS = PartOptions("both", HALF)
OTHERS: dict[str, Any] = {
    "what": "units",
    "score": "taylor",
    "own_labels": True,
    "rearrange": True,
    "refit": "none",
    "multiple": 8,
    "at_least": 1,
    "steps": 4,
    "randoms": 2,
    "batch": 2,
    "length": 64,
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_option_is_part_of_the_identity(name: str) -> None:
    assert OPTIONS.identity != replace(OPTIONS, **{name: OTHERS[name]}).identity


def test_another_budget_is_another_result() -> None:
    budgets = [
        HALF,
        Budget.parse(operations="60%"),
        Budget.parse(weights="50%"),
        Budget.parse(faster=2),
        Budget.parse(tolerance=1),
        Budget.parse(tolerance=1, by_estimate=True),
    ]
    assert len({str(PartOptions("both", budget).identity) for budget in budgets}) == len(budgets)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"what": "layers"}, "what='layers'; expected one of heads, units, both"),
        ({"score": "size"}, "score='size'; expected one of fisher, taylor, michel"),
        ({"refit": "all"}, "refit='all'; expected one of weights, scales, none"),
        ({"multiple": 0}, "multiple=0; expected at least 1"),
        ({"steps": 0}, "steps=0; expected at least 1"),
        ({"randoms": -1}, "randoms=-1; expected at least 0"),
        ({"batch": 0}, "batch=0"),
        ({"length": 0}, "length=0"),
    ],
)
def test_what_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        PartOptions(**{"what": "both", "budget": HALF} | given)
