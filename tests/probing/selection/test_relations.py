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


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hits, the hits of offsets, and the cases of both: one case of each of two relations in every sentence.

    L1H0 is right in 70 % of the cases of the second relation, by its second direction; the offset -1 in 40 % of both.
    All other heads are right in 20 %. L1H1 does not exist.
    """
    generator = np.random.default_rng(seed)
    hits = (generator.random((SENTENCES, 1, 2, 2, 2, 3)) < 0.2).astype(float)
    hits[:, 0, 1, 0, 1, 2] = generator.random(SENTENCES) < 0.7
    hits[..., 0] = hits[..., 1:].sum(-1)
    hits[:, 0, 1, 1] = np.nan
    offsets = np.zeros((SENTENCES, len(OFFSETS), 2, 3))
    offsets[:, OFFSETS.index(-1), :, 1:] = generator.random((SENTENCES, 1, 2)) < 0.4
    offsets[..., 0] = offsets[..., 1:].sum(-1)
    return hits, offsets, np.broadcast_to([2.0, 1.0, 1.0], (SENTENCES, 2, 3))


def best(
    hits: np.ndarray, offsets: np.ndarray, cases: np.ndarray, random: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    rules = evaluate_offsets(offsets, cases, halves(SENTENCES, 0), 0)
    found = {name: array[1] for name, array in best_heads(hits, rules, LAYOUT, 0, random).items()}
    return found | {"best_offset": np.array(OFFSETS)[found["best_rule"]]}


def test_the_best_head_of_each_relation() -> None:
    hits, offsets, cases = made()
    found = best(hits, offsets, cases)
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
    hits, offsets, cases = made()
    found = best(hits, offsets, cases)
    assert (found["relation_of_head"][0, 1, 0], found["direction_of_head"][0, 1, 0]) == (2, 1)
    assert found["relation_gain"][0, 1, 0] == pytest.approx(found["gain"][2])
    assert found["relation_gain_low"][0, 1, 0] == pytest.approx(found["gain_low"][2])
    assert (found["relation_gain"][0, 0] < 0).all()
    assert np.isnan([found[name][0, 1, 1] for name in ("relation_gain", "relation_of_head", "direction_of_head")]).all()


def test_every_head_has_its_accuracy() -> None:
    hits, _, cases = made()
    found = {name: array[1] for name, array in every_head(hits, cases, 0).items()}
    assert found["accuracy"][0, 1, 0, 1, 2] == pytest.approx(hits[:, 0, 1, 0, 1, 2].mean())
    assert np.isnan(found["accuracy"][0, 1, 1]).all()
    assert found["cases"].tolist() == [[[800, 400, 400]] * 2]


def test_random_heads_are_selected_and_evaluated_alike() -> None:
    hits, offsets, cases = made()
    found = best(hits * 0, offsets, cases, random=hits)
    held = ~halves(SENTENCES, 0)
    assert found["baseline_random_weights"][2] == pytest.approx(hits[held, 0, 1, 0, 1, 2].mean())


def test_under_a_causal_mask_heads_and_offsets_have_the_same_cases() -> None:
    """Half of the words have their head before them, and all of these at -1: a head that finds them all is no better.

    L0H0 finds every head that comes before, L1H0 60 % of those that come after, where no offset finds more than 10 %.
    """
    generator = np.random.default_rng(3)
    before = np.arange(SENTENCES) % 2 == 0
    cases = np.zeros((SENTENCES, 2, 3))
    cases[before, 0], cases[~before, 1] = 1, 1
    hits = np.zeros((SENTENCES, 1, 2, 2, 2, 3))
    hits[:, 0, 0, 0, 0] = cases[:, 0]
    found_after = (generator.random(SENTENCES) < 0.6)[:, None]
    hits[:, 0, 1, 0, 1] = cases[:, 1] * found_after
    offsets = np.zeros((SENTENCES, len(OFFSETS), 2, 3))
    offsets[before, OFFSETS.index(-1), 0] = 1
    offsets[:, OFFSETS.index(2), 1] = cases[:, 1] * (generator.random(SENTENCES) < 0.1)[:, None]
    random = np.zeros_like(hits)
    random[:, 0, 0, 0, 0] = cases[:, 0]
    found = best(hits, offsets, cases, random)
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


def test_a_direction_with_next_to_no_cases_is_not_the_best() -> None:
    """Under a causal mask: of 400 words four have their head before them, and L0H1 finds these by chance."""
    generator = np.random.default_rng(4)
    few = np.arange(SENTENCES) % 100 == 0
    cases = np.zeros((SENTENCES, 2, 3))
    cases[few, 0], cases[~few, 1] = 1, 1
    hits = np.zeros((SENTENCES, 1, 2, 2, 2, 3))
    hits[few, 0, 0, 1, 0] = 1
    hits[:, 0, 1, 0, 1] = cases[:, 1] * (generator.random(SENTENCES) < 0.6)[:, None]
    found = best(hits, np.zeros((SENTENCES, len(OFFSETS), 2, 3)), cases)
    assert set(found["best_head"]) == {"L1H0"}
    assert set(found["best_direction"]) == {"head to dependent"}
    assert found["direction_of_head"][0, 0, 1] == 1


def test_a_relation_with_few_cases_is_looked_at_if_it_has_no_others() -> None:
    hits, offsets, cases = made()
    some = (np.arange(SENTENCES) < 60)[:, None, None]
    found = best(hits * some[..., None, None, None], offsets * some[..., None], cases * some)
    assert (found["best_head"][2], found["best_direction"][2]) == ("L1H0", "head to dependent")
