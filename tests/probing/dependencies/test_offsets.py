"""Fixed offsets: the best of each relation on the other half, the next word, and all of them."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.data.annotations import Annotated
from headcount.probing.dependencies.offsets import evaluate_offsets, offset_accuracies
from headcount.probing.dependencies.trees import OFFSETS, read_trees
from headcount.probing.selection.accuracies import halves

CHAIN = Annotated("1", ("a", "b", "c", "d"), ("X",) * 4, ("dep", "dep", "dep", "root"), (2, 3, 4, 0), {})
BACK = Annotated("2", ("a", "b", "c"), ("X",) * 3, ("root", "dep", "dep"), (0, 1, 2), {})
TREES = read_trees([CHAIN] * 30 + [BACK] * 30, [[True] * 4] * 30 + [[True] * 3] * 30, ["dep"])


def test_all_offsets_on_all_sentences() -> None:
    """90 of 150 heads are the next word, 60 the one before."""
    found = dict(zip(OFFSETS, offset_accuracies(TREES).tolist(), strict=True))
    assert found[1] == pytest.approx([0.6, 0.6])
    assert found[-1] == pytest.approx([0.4, 0.4])
    assert found[2] == [0, 0]


@pytest.mark.parametrize("causal", [False, True])
def test_the_best_and_the_next_word(causal: bool) -> None:
    hits, cases = TREES.offset_hits(causal), TREES.cases(causal)
    selecting = halves(len(cases), 0)
    found = evaluate_offsets(hits, cases, selecting, 0)
    held_out = cases[~selecting]
    chains = (held_out.sum((1, 2)) == (6 if causal else 12)).sum()
    assert len(found.best.index) == 4
    if causal:
        # Heads before the word are all at -1, heads after it all at 1.
        assert [OFFSETS[at] for at in found.best.index] == [-1, -1, 1, 1]
        assert found.best.accuracy.tolist() == [1, 1, 1, 1]
        assert found.baselines["baseline_right_branching"].accuracy.tolist() == [0, 0, 1, 1]
    else:
        share = 3 * chains / (3 * chains + 2 * (len(held_out) - chains))
        assert [OFFSETS[at] for at in found.best.index] == [1] * 4
        assert found.best.accuracy == pytest.approx([share] * 4)
        assert found.baselines["baseline_right_branching"].accuracy == pytest.approx([share] * 4)
    assert found.held_out(np.array([1]), np.array([0])) == held_out[:, 1, 0].sum()
