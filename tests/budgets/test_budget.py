"""Is a budget read as it was meant, and is what makes no sense refused in one line?"""

from __future__ import annotations

from typing import Any

import pytest

from headcount.budgets.budget import Budget, check_what, read_share
from headcount.errors import InvalidOption


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"operations": "50%"}, Budget("operations", 0.5, spelled="operations=50%")),
        ({"operations": 0.25}, Budget("operations", 0.25, spelled="operations=0.25")),
        ({"weights": " 12.5% "}, Budget("weights", 0.125, spelled="weights= 12.5% ")),
        ({"weights": "0.6"}, Budget("weights", 0.6, spelled="weights=0.6")),
        ({"faster": 4}, Budget("time", 0.25, spelled="faster=4")),
        ({"tolerance": 0.5}, Budget(tolerance=0.5, spelled="tolerance=0.5")),
        ({"tolerance": 0, "by_estimate": True}, Budget(tolerance=0, by_estimate=True, spelled="tolerance=0")),
    ],
)
def test_budgets(given: dict[str, Any], expected: Budget) -> None:
    assert Budget.parse(**given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "got no budget; expected exactly one: operations=50%"),
        ({"operations": "50%", "weights": 0.6}, "got operations=50% and weights=0.6; expected exactly one"),
        ({"faster": 2, "tolerance": 1}, "got faster=2 and tolerance=1; expected exactly one"),
        ({"faster": 1}, "got faster=1; expected more than 1: 2 is twice as fast"),
        ({"faster": 0.5}, "got faster=0.5; expected"),
        ({"faster": float("nan")}, "got faster=nan"),
        ({"faster": float("inf")}, "got faster=inf"),
        ({"tolerance": -1}, "got tolerance=-1; expected at least 0"),
        ({"tolerance": float("nan")}, "got tolerance=nan"),
        ({"operations": "0%"}, "got operations=0%; expected a share between 0% and 100%"),
        ({"operations": "100%"}, "got operations=100%; expected a share between"),
        ({"operations": "120%"}, "got operations=120%; expected a share between"),
        ({"operations": "-5%"}, "got operations=-5%"),
        ({"operations": "abc"}, "got operations=abc; expected the share that is left, such as 50%"),
        ({"operations": "%"}, "got operations=%; expected the share that is left"),
        ({"operations": ""}, "got operations=; expected the share that is left"),
        ({"operations": True}, "got operations=True; expected the share"),
        ({"weights": "nan"}, "got weights=nan; expected a share between 0% and 100% of the whole model's weights"),
        ({"weights": 50}, "got weights=50; expected a share"),
    ],
)
def test_what_makes_no_sense(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        Budget.parse(**given)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shares_and_parts() -> None:
    assert read_share("operations", "99.9%") == pytest.approx(0.999)
    assert check_what("both") == "both"
    with pytest.raises(InvalidOption, match="what='layers'; expected one of heads, units, both"):
        check_what("layers")
