"""How many heads have half of the importance, and what trackers get of a row of importance."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.choosing.training_importance import TrainingImportance, half
from headcount.choosing.training_rows import Row


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0], 1), ([0.5, 0.5], 1), ([0.4, 0.3, 0.3], 2), ([0.0, 0.0], 0), ([1.0, 1.0, 1.0, 1.0, np.nan], 2)],
)
def test_heads_with_half_of_the_importance(values: list[float], expected: int) -> None:
    assert half(np.array(values)) == expected


def test_shares_of_layers_add_up_to_1() -> None:
    michel = np.array([[[0.1, 0.3], [0.6, np.nan]]], np.float32)
    measurement = TrainingImportance("michel")
    row = Row(3, {"michel": michel, "importance": michel}, 0.5)
    assert measurement.totals(row) == {"half": 1}
    name, shares = measurement.by_layer(row)
    assert name == "share"
    np.testing.assert_allclose(shares, [[0.4, 0.6]])
    nothing = Row(3, {"michel": np.zeros((1, 2, 2))}, 0.5)
    np.testing.assert_array_equal(measurement.by_layer(nothing)[1], [[0, 0]])
