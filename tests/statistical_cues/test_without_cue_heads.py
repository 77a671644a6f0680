"""What sets of heads do, beside random ones."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.ablation.matched_sets import plan_sets
from headcount.core.heads import Layout
from headcount.statistical_cues.head_effects import Parts
from headcount.statistical_cues.without_cue_heads import compare_sets


def test_what_the_sets_do() -> None:
    """Changes that only the chosen set makes, where cues are right."""
    layout = Layout.even({"encoder": (1, 4)})
    parts = Parts.of(np.arange(40) % 2)
    baseline = np.where(parts.right, 3.0, 1.0)
    chosen, drawn = plan_sets(list(layout), layout, [1], 2, 0)
    odds = np.stack([baseline - 2.0 * parts.right, baseline, baseline - 0.5 * parts.right])
    right = np.ones((3, 40), dtype=bool)
    right[0, :4] = False
    found = compare_sets(chosen, [1], baseline, odds, np.ones(40, dtype=bool), right, parts, 0)
    assert found["reliance_change"][1].tolist() == [-2]
    assert found["reliance_after"][1].tolist() == [0]
    assert found["random_reliance_change"][1].tolist() == [-0.25]
    assert found["reliance_gain"][1].tolist() == [-1.75]
    assert found["evidence_change"][1].tolist() == [-1]
    assert found["accuracy_change"][1] == pytest.approx([-0.1])
    assert found["random_accuracy_change"][1].tolist() == [0]
    assert len(drawn) == 2
