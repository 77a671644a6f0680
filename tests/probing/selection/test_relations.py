"""The best head of a relation and the best relation of a head, on sentences that did not select them."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.core.heads import Layout
from headcount.probing.dependencies.offsets import evaluate_offsets
from headcount.probing.dependencies.trees import OFFSETS
from headcount.probing.selection.accuracies import halves
from headcount.probing.selection.relations import best_heads, every_head

LAYOUT = Layout({"encoder": ((0, 1), (0,))})
SENTENCES = 400


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hits, cases, the hits of offsets, and their cases: one case of each of two relations in every sentence.

    L1H0 is right in 70 % of the cases of the second relation, by its second direction; the offset -1 in 40 % of both.
    All other heads are right in 20 %. L1H1 does not exist.
    """
    generator = np.random.default_rng(seed)
    hits = (generator.random((SENTENCES, 1, 2, 2, 2, 3)) < 0.2).astype(float)
    hits[:, 0, 1, 0, 1, 2] = generator.random(SENTENCES) < 0.7
    hits[..., 0] = hits[..., 1:].sum(-1)
    cases = np.broadcast_to([2.0, 1.0, 1.0], hits.shape).copy()
    hits[:, 0, 1, 1], cases[:, 0, 1, 1] = np.nan, np.nan
    offsets = np.zeros((SENTENCES, len(OFFSETS), 2, 3))
    offsets[:, OFFSETS.index(-1), :, 1:] = generator.random((SENTENCES, 1, 2)) < 0.4
    offsets[..., 0] = offsets[..., 1:].sum(-1)
    return hits, cases, offsets, np.broadcast_to([2.0, 1.0, 1.0], (SENTENCES, 2, 3))


def best(
    hits: np.ndarray, cases: np.ndarray, offsets: np.ndarray, seen: np.ndarray, random: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    against = evaluate_offsets(offsets, seen, halves(SENTENCES, 0), 0)
    found = {name: array[1] for name, array in best_heads(hits, cases, against, LAYOUT, 0, random).items()}
    return found | {"best_offset": np.array(OFFSETS)[found["best_rule"]]}


def test_the_best_head_of_each_relation() -> None:
    hits, cases, offsets, seen = made()
    found = best(hits, cases, offsets, seen)
    assert (found["best_head"][2], found["best_direction"][2]) == ("L1H0", "head to dependent")
    assert found["best_offset"].tolist() == [-1, -1, -1]
    held = ~halves(SENTENCES, 0)
    assert found["held_out_cases"].tolist() == [400, 200, 200]
    assert found["best_accuracy"][2] == pytest.approx(hits[held, 0, 1, 0, 1, 2].mean())
    assert found["baseline_offset"][2] == pytest.approx(offsets[held, OFFSETS.index(-1), 0, 2].mean())
    assert found["gain"][2] == pytest.approx(found["best_accuracy"][2] - found["baseline_offset"][2])
    assert found["gain_low"][2] > 0.15
    assert found["gain_high"][1] < 0, "no head is as good as the offset"


def test_the_best_relation_of_each_head() -> None:
    hits, cases, offsets, seen = made()
    found = best(hits, cases, offsets, seen)
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
    hits, cases, offsets, seen = made()
    found = best(hits * 0, cases, offsets, seen, random=hits)
    held = ~halves(SENTENCES, 0)
    assert found["baseline_random_weights"][2] == pytest.approx(hits[held, 0, 1, 0, 1, 2].mean())


def test_under_a_causal_mask_heads_and_offsets_have_the_same_cases() -> None:
    """Half of the words have their head before them, and all of these at -1: a head that finds them all is no better.

    L0H0 finds every head that comes before, L1H0 60 % of those that come after, where no offset finds more than 10 %.
    """
    generator = np.random.default_rng(3)
    before = np.arange(SENTENCES) % 2 == 0
    cases = np.zeros((SENTENCES, 1, 2, 2, 2, 3))
    cases[before, ..., 0, :], cases[~before, ..., 1, :] = 1, 1
    hits = np.zeros_like(cases)
    hits[:, 0, 0, 0, 0] = cases[:, 0, 0, 0, 0]
    found_after = (generator.random(SENTENCES) < 0.6)[:, None]
    hits[:, 0, 1, 0, 1] = cases[:, 0, 1, 0, 1] * found_after
    offsets = np.zeros((SENTENCES, len(OFFSETS), 2, 3))
    offsets[before, OFFSETS.index(-1), 0] = 1
    offsets[:, OFFSETS.index(2), 1] = cases[:, 0, 0, 0, 1] * (generator.random(SENTENCES) < 0.1)[:, None]
    random = np.zeros_like(hits)
    random[:, 0, 0, 0, 0] = cases[:, 0, 0, 0, 0]
    found = best(hits, cases, offsets, cases[:, 0, 0, 0], random)
    assert (found["best_head"][1], found["best_direction"][1], found["best_offset"][1]) == (
        "L1H0",
        "head to dependent",
        2,
    )
    held = ~halves(SENTENCES, 0) & ~before
    assert found["held_out_cases"][1] == held.sum()
    assert found["best_accuracy"][1] == pytest.approx(found_after[held].mean())
    assert found["baseline_random_weights"][1] == 0, "its best head finds other cases"
    assert found["baseline_right_branching"][1] == 0
    assert found["relation_gain"][0, 0, 0] == 0, "not better than the offset -1 on the words whose head comes before"
