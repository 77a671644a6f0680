"""When a training came to nothing."""

from __future__ import annotations

import pytest

from headcount.data.kinds.failed_runs import guesses_largest_class


@pytest.mark.parametrize(
    ("scores", "failed"),
    [
        ({"accuracy": 0.5}, True),
        ({"accuracy": 0.75}, True),
        ({"accuracy": 0.76}, False),
        ({"f1": 0.99, "accuracy": 0.75}, True),
        ({"matthews": -0.1}, True),
        ({"matthews": 0.1}, False),
    ],
)
def test_the_largest_class_is_what_must_be_beaten(scores: dict[str, float], failed: bool) -> None:
    assert guesses_largest_class(scores, [2, 0, 2, 2]) is failed
