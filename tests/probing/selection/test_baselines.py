"""The best rule of each direction and relation, selected on one half and evaluated on the other."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.probing.selection.accuracies import evaluate, halves
from headcount.probing.selection.baselines import Baselines, select_rule


def test_the_rule_that_is_best_on_the_selecting_half() -> None:
    """The first rule is right there and nowhere else: what counts is what it gets on the other half."""
    selecting = halves(100, 0)
    hits = np.zeros((100, 2, 2, 3))
    hits[selecting, 0] = 1
    hits[:50, 1] = 1
    cases = np.ones((100, 2, 3))
    cases[:, 1, 2] = 0
    hits[:, :, 1, 2] = 0
    best, selected = select_rule(hits, cases, selecting, 0)
    assert best.index.tolist() == [0, 0, 0, 0, 0, -1]
    assert best.accuracy[:5].tolist() == [0] * 5
    assert np.isnan(best.accuracy[5])
    assert selected[0].tolist() == [1, 1, 1]
    total = cases.reshape(100, -1)
    second = evaluate(hits[:, 1].reshape(100, -1), total, np.zeros(6, int), selecting, 0)
    rules = Baselines(best, {"baseline_second": second}, selected, cases, selecting, ("there", "back"))
    column = rules.column(np.array([1]), np.array([1]))
    assert column.tolist() == [4]
    assert second.take(column).accuracy == pytest.approx(hits[~selecting, 1, 1, 1].mean())
    assert rules.held_out(np.array([0, 1]), np.array([2, 2])).tolist() == [50, 0]
