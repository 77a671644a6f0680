"""Shares of patterns: published ones above, layers without heads left out."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from headcount.reporting.pattern_figure import draw_patterns
from tests.reporting.drawn import bars


def test_a_papers_shares_stand_above() -> None:
    share = [0.4, 0.1, 0.2, 0.1, 0.2]
    told = {
        "names": list("abcde"),
        "published": {"source": "BERT, a paper, Figure 2", "share": share[::-1]},
        "stacks": [{"stack": "encoder", "share": share, "layers": [share, None, share]}],
    }
    found = bars(draw_patterns(Figure(layout="constrained"), told))
    assert list(found) == ["BERT, a paper,\nFigure 2", "all maps", "L0", "L2"]
    np.testing.assert_allclose(found["BERT, a paper,\nFigure 2"], [20, 10, 20, 10, 40])
