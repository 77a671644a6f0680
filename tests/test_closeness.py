"""Does the comparison that all tests of parity stand on notice what it should?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.closeness import ROUNDED, assert_same


def test_rounding_errors_beside_a_large_value_are_none() -> None:
    assert_same([1e6, 1e-5], [1e6, 0.0])
    assert_same([1.0, np.nan], [1.0 + 1e-10, np.nan])
    assert_same([1e-7], [0.0], ROUNDED, largest=1.0)
    assert_same([], [])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-8]),
        ([1e-12, 0.0], [1e-12, 1e-20]),
        ([1.0, np.nan], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, np.nan]),
        ([1.0, np.inf], [1.0, 2.0]),
        ([1.0], [[1.0]]),
        ([1.0, 1.0], [1.0]),
        ([1e-300], [0.0]),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
    ],
    ids=str,
)
def test_differences_are_noticed(found: Any, expected: Any) -> None:
    with pytest.raises(AssertionError):
        assert_same(found, expected)
