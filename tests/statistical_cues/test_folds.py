"""Folds keep the same texts together, and are about equally large."""

from __future__ import annotations

import numpy as np

from headcount.statistical_cues.folds import group_texts, make_folds


def test_twins_are_one_group() -> None:
    assert group_texts([("a", "b"), ("b", "a"), ("a", "a"), ("a", "b")]).tolist() == [0, 0, 1, 0]
    assert len(set(group_texts([("a b", "c"), ("a", "b c")]))) == 2


def test_no_group_is_divided() -> None:
    groups = np.random.default_rng(0).integers(0, 300, 1000)
    groups = np.unique(groups, return_inverse=True)[1]
    folds = make_folds(groups, 5, seed=1)
    assert all(len(set(folds[groups == group])) == 1 for group in range(groups.max() + 1))
    assert np.bincount(folds).min() > 180
    assert (folds == make_folds(groups, 5, seed=1)).all()
    assert (folds != make_folds(groups, 5, seed=2)).any()
