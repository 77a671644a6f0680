"""The numbers of each head as labelled arrays: each with a meaning, absent heads unknown."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.core.heads import Layout
from headcount.statistical_cues.head_effects import Parts
from headcount.statistical_cues.head_results import summarise_heads


def test_heads_that_were_pruned_are_unknown() -> None:
    layout = Layout({"encoder": ((0, 2), (1,))})
    generator = np.random.default_rng(0)
    parts = Parts.of(np.arange(60) % 3 > 0)
    baseline, odds = generator.normal(size=60), generator.normal(size=(3, 60))
    arrays = summarise_heads(baseline, odds, baseline > 0, odds > 0, parts, layout, 0)
    effect = arrays["cue_effect"][1]
    assert effect.shape == (1, 2, 3)
    assert np.isfinite(effect[0]).tolist() == [[True, False, True], [False, True, False]]
    change = odds[2] - baseline
    assert effect[0, 1, 1] == pytest.approx(change[parts.right].mean() - change[parts.wrong].mean())
    assert all(len(array) == 3 for array in arrays.values()), "dimensions, values and meaning"
