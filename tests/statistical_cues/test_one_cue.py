"""One cue alone: selected on one half, evaluated on the other, which it never saw."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from headcount.statistical_cues.one_cue import best_choice_cue, best_label_cue
from headcount.statistical_cues.productivity import choice_entries


def test_a_cue_that_points_away_is_avoided() -> None:
    """Cue 0 is in the wrong choice of 30 of 40 examples; cue 1 is in both and says nothing."""
    labels = np.zeros(40, dtype=int)
    has = np.r_[np.zeros(10), np.ones(30)]
    each = np.ones(40)
    parts = [csr_matrix(np.stack([own, each], 1).astype(int)) for own in (1 - has, has)]
    best = best_choice_cue(choice_entries(parts, labels, "exactly-one"), np.arange(40) % 2 == 0, np.array([0, 1]))
    assert (best.cue, best.rule, best.accuracy, best.guess) == (0, "take the choice without it", 0.75, 0.5)
    assert best.low < 0.75 < best.high
    assert best.examples == 20


def test_the_half_that_selects_is_not_evaluated() -> None:
    """Cue 0 is perfect on the first half and always wrong on the second."""
    labels = np.zeros(20, dtype=int)
    good = np.r_[np.ones(10), np.zeros(10)].astype(int)[:, None]
    entries = choice_entries([csr_matrix(good), csr_matrix(1 - good)], labels, "exactly-one")
    assert best_choice_cue(entries, np.arange(20) < 10, np.array([0])).accuracy == 0


def test_labels_with_and_without_the_cue() -> None:
    labels = np.array([1, 1, 1, 0] * 5 + [0, 0, 0, 2] * 5)
    present = csr_matrix(np.repeat([1, 0], 20)[:, None])
    best = best_label_cue(present, labels, ["no", "yes", "maybe"], np.arange(40) % 8 < 4, np.array([0]))
    assert best.rule == "yes with it, no without it"
    assert best.accuracy == 0.75
    assert best.guess == max(np.bincount(labels[np.arange(40) % 8 >= 4])) / 20
