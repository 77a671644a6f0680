"""Scores over test sentences: means over the seeds, intervals that hold them, and paired gains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headcount.probing.classifiers.scores import SCHEMAS, summarise_classifiers, trained_classifiers

GENERATOR = np.random.default_rng(0)
SENTENCES, SEEDS = 60, 2
WORDS = GENERATOR.integers(3, 12, SENTENCES).astype(float)
FIXED = {"test_words": (("sentence",), WORDS), "right_branching": (("sentence",), np.floor(WORDS / 3))}


def summarised(shares: dict[str, float], control: bool = True) -> dict[str, Any]:
    """Each classifier gets a share of the words of each sentence right, the second seed one word less of the first."""
    names = trained_classifiers(control)
    planned = [(name, seed) for name in names for seed in range(SEEDS)]
    right = np.stack([np.floor(WORDS * shares[name]) for name, _ in planned])
    right[1::2, 0] -= 1
    weights = np.arange(len(planned) * 4, dtype=float).reshape(len(planned), 1, 2, 1, 2)
    values = {
        "values_right": right,
        "values_development": np.full(len(planned), 0.5),
        "values_epochs": np.full(len(planned), 3.0),
        "values_weight": weights,
    }
    return {name: array[1] for name, array in summarise_classifiers(values, FIXED, planned, 0).items()}


SHARES = dict(zip(trained_classifiers(True), (0.6, 0.5, 0.8, 0.2, 0.3), strict=True))


def test_scores_and_gains() -> None:
    found = summarised(SHARES)
    probes = found["probe"].tolist()
    assert probes == ["right-branching", *trained_classifiers(True)]
    total = WORDS.sum()
    for at, name in enumerate(probes[1:], start=1):
        first = np.floor(WORDS * SHARES[name]).sum()
        np.testing.assert_allclose(found["uas_by_seed"][at], [first / total, (first - 1) / total])
        assert found["uas"][at] == pytest.approx((first - 0.5) / total)
        assert found["uas_low"][at] < found["uas"][at] < found["uas_high"][at]
        assert found["gain_right_branching"][at] == pytest.approx(found["uas"][at] - found["uas"][0])
    distance, attention, both, random = 1, 2, 3, 4
    assert found["gain_distance"][both] == pytest.approx(found["uas"][both] - found["uas"][distance])
    assert found["gain_distance_low"][both] > 0
    assert found["gain_random_weights"][attention] == pytest.approx(found["uas"][attention] - found["uas"][random])
    assert np.isnan(found["gain_distance"][distance])
    assert np.isnan(found["gain_random_weights"][[0, distance, random]]).all()
    assert np.isnan(found["epochs"][0])
    assert found["weight"].tolist() == np.arange(8, 16).reshape(2, 1, 2, 1, 2).mean(0).tolist()


def test_a_gain_is_paired() -> None:
    """Two classifiers that are right about the same words differ by nothing, in every resample."""
    same = summarised(SHARES | {"attention": 0.6})
    assert (same["gain_distance"][2], same["gain_distance_low"][2], same["gain_distance_high"][2]) == (0, 0, 0)


def test_without_a_control() -> None:
    found = summarised(SHARES, control=False)
    assert "gain_random_weights" not in found
    assert len(found["probe"]) == 4


def test_every_variable_says_what_it_is() -> None:
    found = summarised(SHARES)
    assert {name for name in found if not name.endswith(("_low", "_high"))} <= set(SCHEMAS)
    assert [name for name, schema in SCHEMAS.items() if schema.shown and schema.category] == ["weight"]
