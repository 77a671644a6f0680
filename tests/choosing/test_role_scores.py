"""Scores of roles stay within 0 and 1, and a role is one that all seeds give."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headcount.choosing.role_scores import SCHEMAS, role_scores, score_arrays
from headcount.core.claims import ROLES

GATES = arrays(float, (3, 1, 2, 4), elements=st.floats(0, 1))


@given(GATES, GATES)
def test_scores_are_shares(up: np.ndarray, down: np.ndarray) -> None:
    scores = role_scores(up, down)
    assert scores.shape[0] == len(ROLES)
    assert (scores >= 0).all()
    assert (scores <= 1).all()
    # What is not one of the three is a gate that ends lower when it is pushed up than when it is pushed down.
    np.testing.assert_allclose(scores.sum(0), 1 + down * (1 - up))


def test_seeds_that_disagree_give_no_role() -> None:
    up = np.array([[0.9, 0.9, 0.1, np.nan], [0.9, 0.9, 0.2, np.nan]])[:, None, None]
    down = np.array([[0.8, 0.8, 0.1, np.nan], [0.9, 0.1, 0.1, np.nan]])[:, None, None]
    found = score_arrays(up, down)
    np.testing.assert_array_equal(found["role"][1][0, 0], [0, len(ROLES), 1, np.nan])
    np.testing.assert_allclose(found["seed_range"][1][0, 0], [0.1, 0.7, 0.1, np.nan])
    assert set(found) == set(SCHEMAS)
