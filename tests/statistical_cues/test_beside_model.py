"""A model beside the cues: one that follows them, one that ignores them, and the numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.statistical_cues.beside_model import PARTS, beside_model


def value(found: object, name: str) -> np.ndarray:
    return np.asarray(found[name][1])  # type: ignore[index]


def test_by_hand() -> None:
    """Cues right on 60 of 80, where the model gets 54; of the 20 others 8; of 10 without a cue 5."""
    cues = np.r_[np.ones(60), np.zeros(20), np.full(10, 0.5)]
    model = np.r_[np.arange(60) < 54, np.arange(20) < 8, np.arange(10) < 5]
    found = beside_model(model, cues, 0.5, 0)
    assert value(found, "part").tolist() == list(PARTS)
    assert value(found, "part_examples").tolist() == [90, 60, 20, 10]
    assert value(found, "model_accuracy").tolist() == pytest.approx([67 / 90, 0.9, 0.4, 0.5])
    assert value(found, "accuracy_without_cues") == pytest.approx(0.65)
    assert value(found, "explained") == pytest.approx(62 / 80 - 0.65)
    together, by_accident = 66 / 80, (62 * 60 + 18 * 20) / 80**2
    assert value(found, "error_consistency") == pytest.approx((together - by_accident) / (1 - by_accident))
    assert value(found, "explained_low") < value(found, "explained") < value(found, "explained_high")


def test_a_model_that_follows_the_cues() -> None:
    cues = np.r_[np.ones(70), np.zeros(30)]
    found = beside_model(cues == 1, cues, 0.5, 0)
    assert value(found, "accuracy_without_cues") == 0.5
    assert value(found, "explained") == pytest.approx(0.2)
    assert value(found, "error_consistency") == pytest.approx(1)


def test_a_model_that_ignores_the_cues() -> None:
    generator = np.random.default_rng(0)
    cues = (generator.random(4000) < 0.7).astype(float)
    found = beside_model(generator.random(4000) < 0.8, cues, 0.5, 0)
    assert value(found, "explained_low") < 0 < value(found, "explained_high")
    assert value(found, "error_consistency_low") < 0 < value(found, "error_consistency_high")


def test_cues_that_are_never_wrong() -> None:
    found = beside_model(np.ones(9, dtype=bool), np.ones(9), 0.5, 0)
    assert np.isnan(value(found, "accuracy_without_cues"))
    assert np.isnan(value(found, "model_accuracy")[2])
