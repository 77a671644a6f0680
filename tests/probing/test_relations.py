"""The best head of a relation and the best relation of a head, on sentences that did not select them."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.core.heads import Layout
from headcount.probing.accuracies import halves
from headcount.probing.relations import best_heads, best_random_heads, every_head
from headcount.probing.trees import OFFSETS

LAYOUT = Layout({"encoder": ((0, 1), (0,))})
SENTENCES = 400


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hits, cases, and those of offsets: one case of each of two relations in every sentence.

    L1H0 is right in 70 % of the cases of the second relation, by its second direction; the offset -1 in 40 % of both.
    All other heads are right in 20 %. L1H1 does not exist.
    """
    generator = np.random.default_rng(seed)
    hits = (generator.random((SENTENCES, 1, 2, 2, 2, 3)) < 0.2).astype(float)
    hits[:, 0, 1, 0, 1, 2] = generator.random(SENTENCES) < 0.7
    hits[..., 0] = hits[..., 1:].sum(-1)
    cases = np.broadcast_to([2.0, 1.0, 1.0], hits.shape).copy()
    hits[:, 0, 1, 1], cases[:, 0, 1, 1] = np.nan, np.nan
    offsets = np.zeros((SENTENCES, len(OFFSETS), 3))
    offsets[:, OFFSETS.index(-1), 1:] = generator.random((SENTENCES, 2)) < 0.4
    offsets[..., 0] = offsets[..., 1:].sum(-1)
    return hits, cases, offsets, np.broadcast_to([2.0, 1.0, 1.0], offsets.shape)


def test_the_best_head_of_each_relation() -> None:
    hits, cases, offsets, words = made()
    found = {name: array[1] for name, array in best_heads(hits, cases, offsets, words, LAYOUT, 0).items()}
    assert (found["best_head"][2], found["best_direction"][2]) == ("L1H0", "head to dependent")
    assert found["best_offset"].tolist() == [-1, -1, -1]
    held = ~halves(SENTENCES, 0)
    assert found["held_out_cases"].tolist() == [400, 200, 200]
    assert found["best_accuracy"][2] == pytest.approx(hits[held, 0, 1, 0, 1, 2].mean())
    assert found["offset_accuracy"][2] == pytest.approx(offsets[held, OFFSETS.index(-1), 2].mean())
    assert found["gain"][2] == pytest.approx(found["best_accuracy"][2] - found["offset_accuracy"][2])
    assert found["gain_low"][2] > 0.15
    assert found["gain_high"][1] < 0, "no head is as good as the offset"


def test_the_best_relation_of_each_head() -> None:
    hits, cases, offsets, words = made()
    found = {name: array[1] for name, array in best_heads(hits, cases, offsets, words, LAYOUT, 0).items()}
    assert (found["relation_of_head"][0, 1, 0], found["direction_of_head"][0, 1, 0]) == (2, 1)
    assert found["relation_gain"][0, 1, 0] == pytest.approx(found["gain"][2])
    assert found["relation_gain_low"][0, 1, 0] == pytest.approx(found["gain_low"][2])
    assert (found["relation_gain"][0, 0] < 0).all()
    assert np.isnan([found[name][0, 1, 1] for name in ("relation_gain", "relation_of_head", "direction_of_head")]).all()


def test_every_head_has_its_accuracy() -> None:
    hits, cases, _, _ = made()
    found = {name: array[1] for name, array in every_head(hits, cases, 0).items()}
    assert found["accuracy"][0, 1, 0, 1, 2] == pytest.approx(hits[:, 0, 1, 0, 1, 2].mean())
    assert np.isnan(found["accuracy"][0, 1, 1]).all()
    assert found["cases"].tolist() == [[[800, 400, 400]] * 2]


def test_random_heads_are_selected_and_evaluated_alike() -> None:
    hits, cases, _, _ = made()
    found = {name: array[1] for name, array in best_random_heads(hits, cases, 0).items()}
    held = ~halves(SENTENCES, 0)
    assert found["random_accuracy"][2] == pytest.approx(hits[held, 0, 1, 0, 1, 2].mean())
