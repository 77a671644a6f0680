"""The scores of the classifiers are those of the paper's formulas, written as loops in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from headcount.probing.classifiers.cases import pad_cases
from headcount.probing.classifiers.probes import (
    RATES,
    AttentionAndWords,
    AttentionOnly,
    DistanceAndWords,
    build_probe,
    distances,
)
from tests.probing.classifiers.examples import HEADS, WIDTH, cases


def randomised(probe: Any) -> Any:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return probe


def naive(probe: Any, attention: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """[M, M]: the score of every j for every i, one by one."""
    size = len(vectors)
    values = {name: value.double().numpy() for name, value in probe.state_dict().items()}
    scores = np.zeros((size, size))
    if "root_vector" in values:
        vectors = np.concatenate([values["root_vector"][None], vectors[1:]])
    for i in range(size):
        for j in range(size):
            if isinstance(probe, DistanceAndWords):
                offset = j - i
                features = np.zeros(8)
                if i and j and offset:
                    step = 0 if abs(offset) == 1 else 1 if abs(offset) == 2 else 2 if abs(offset) <= 5 else 3
                    features[step + (4 if offset > 0 else 0)] = 1
                inner = values["of_dependent"] @ vectors[i] + values["of_head"] @ vectors[j]
                inner = inner + values["of_distance"] @ features + values["bias"]
                scores[i, j] = values["output"] @ np.tanh(inner)
                continue
            for k in range(HEADS):
                if isinstance(probe, AttentionOnly):
                    w, u = values["weights"][k]
                else:
                    w, u = (
                        values["of_dependent"][2 * k + way] @ vectors[i]
                        + values["of_head"][2 * k + way] @ vectors[j]
                        + values["constant"][k, way]
                        for way in (0, 1)
                    )
                scores[i, j] += w * attention[i, j, k] + u * attention[j, i, k]
            if j == 0 and "root" in values:
                scores[i, j] += values["root"]
    return scores


@pytest.mark.parametrize("has_root", [True, False])
@pytest.mark.parametrize("name", RATES)
def test_equal_to_a_loop(name: str, has_root: bool) -> None:
    probe = randomised(build_probe(name, HEADS, WIDTH, has_root, np.random.default_rng(0)))
    several = cases(6)
    scores = probe(pad_cases(several)).detach().double().numpy()
    for row, case in enumerate(several):
        own = len(case.heads)
        assert case.attention is not None
        expected = naive(probe, case.attention.double().numpy(), case.vectors.double().numpy())
        np.testing.assert_allclose(scores[row, :own, :own], expected, rtol=1e-4, atol=1e-4)


def test_one_weight_for_each_head_and_direction() -> None:
    assert sum(parameter.numel() for parameter in AttentionOnly(144, True).parameters()) == 288
    words = AttentionAndWords(144, 10, True)
    assert words.of_dependent.numel() + words.of_head.numel() == 288 * 20


def test_the_features_of_a_distance() -> None:
    features = distances(10, "cpu")
    assert features.shape == (10, 10, 8)
    assert features[4, 3].argmax() == 0
    assert features[4, 5].argmax() == 4
    assert features[1, 9].argmax() == 7
    assert not features[0].any()
    assert not features[:, 0].any(), "ROOT has no place in the sentence"
    assert (features[1:, 1:].sum(-1) == 1 - torch.eye(9)).all()
