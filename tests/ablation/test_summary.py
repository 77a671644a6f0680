"""The statistics of a sweep hold together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import headcount as hc
from tests import planted


def test_scores_changes_and_intervals_agree(tmp_path: Path) -> None:
    found = hc.sweep(planted.classifier(), planted.tokenizer(tmp_path), planted.texts(), task="sst2", how="zero")
    np.testing.assert_allclose(found["score"] - float(found["baseline"]), found["delta"], atol=1e-12)
    assert (found["low"] <= found["delta"]).all()
    assert (found["delta"] <= found["high"]).all()
    assert (found["q"] >= found["p"] - 1e-12).all()
    assert float(found["naive_gain"]) == found["delta"].max()
