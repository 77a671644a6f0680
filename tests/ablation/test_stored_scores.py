"""Scores that are read back from a sweep are those of the sweep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.ablation.stored_scores import StoredScores
from tests import planted


@pytest.mark.parametrize("how", ["zero", hc.Resample(draws=3)])
@pytest.mark.parametrize("metric", ["accuracy", "loss"])
def test_scores_bounds_and_evidence(how: str, metric: str, tmp_path: Path) -> None:
    task = hc.find_task("sst2")
    swept = hc.sweep(
        planted.classifier(), planted.tokenizer(tmp_path), planted.texts(80), task=task, by=["L0H0", "L0H1"], how=how,
        metric=metric,
    )  # fmt: skip
    stored = StoredScores.read(swept, task.kind, metric)
    np.testing.assert_allclose(stored.scores, [float(swept["baseline"]), *swept["score"].values])
    sign = 1 if metric == "accuracy" else -1
    value, worst, best = stored.better(np.array([-1, 1, 0]))
    assert value == pytest.approx(sign * float(swept["delta"][0]))
    assert worst <= value <= best
    evidence = stored.evidence(0, [1, 2]).per_choice
    np.testing.assert_allclose(evidence["p"], swept["p"].values)
    backwards = stored.evidence(1, [2])
    change = stored.scores[2] - stored.scores[1]
    assert backwards.per_choice["low"][0] - 1e-9 <= change <= backwards.per_choice["high"][0] + 1e-9
