"""Sentences on importance, gates and cuts agree with the order and the verdict that their numbers give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from headcount.core.claims import choose_cut
from headcount.core.heads import Head, Layout
from headcount.story.one_head.matters import budget_facts, curve_facts, gate_facts, importance_facts
from tests import planted
from tests.choosing.planted_roles import roles
from tests.core.curves import accuracy_curve
from tests.planted_budgets import CONFIRMED, budget_dataset

SEQUENCE = [f"L{layer}H{head}" for layer in range(6) for head in range(10)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def with_sequence(curve: xr.Dataset) -> xr.Dataset:
    return curve.assign(sequence=(("order", "rank"), np.array([SEQUENCE] * curve.sizes["order"], dtype=object)))


def test_importance_has_its_rank(tokenizer: Any) -> None:
    found = hc.importance(planted.classifier(), tokenizer, planted.texts(40), task="sst2")
    values = found["michel"].values.ravel()
    place = np.unravel_index(int(values.argmax()), found["michel"].shape)
    first, second = importance_facts("importance", found, Head("encoder", int(place[1]), int(place[2])))
    assert first.sentence.startswith("Importance (mean |slope of the loss|): ")
    assert first.sentence.endswith(", the largest of 4 heads.")
    assert first.numbers["value"] == values.max()
    assert second.sentence.startswith("Expected rise of the loss without it (loss): ")


def test_a_cut_takes_the_first_heads_of_the_order() -> None:
    selection, held_out = (with_sequence(accuracy_curve([0, 2, 90], [0, 2, 3], 2000)) for _ in range(2))
    count = choose_cut(selection, "importance", 1.0).count
    assert count == 20
    for number, taken in ((20, True), (21, False)):
        name = SEQUENCE[number - 1]
        (fact,) = curve_facts("curve@prune", held_out, selection, (name, f"encoder.{name}"), 1.0)
        assert fact.sentence == (
            f"In the order of importance it is removed as number {number} of 60. The largest cut that is shown to stay "
            f"within 1 point of accuracy removes 20 heads, {'this one among them' if taken else 'not this one'}; "
            "held-out examples confirm it."
        )
        assert fact.numbers["removed"] == str(taken).lower()


def test_what_is_not_shown_is_not_claimed() -> None:
    few = with_sequence(accuracy_curve([0, 0, 30], [0, 0, 0], 40))
    (fact,) = curve_facts("curve", few, few, ("L0H0", "encoder.L0H0"), 1.0)
    assert "No cut is shown to stay within 1 point of accuracy: the largest whose point estimate does" in fact.sentence
    assert "too few held-out examples to confirm it" in fact.sentence
    bad = with_sequence(accuracy_curve([500, 600, 700], [0, 0, 0], 1000))
    (fact,) = curve_facts("curve", bad, bad, ("L0H0", "encoder.L0H0"), 1.0)
    assert fact.sentence.endswith("; no cut stays within 1 point of accuracy, so that none would remove it.")
    (fact,) = curve_facts("curve", bad, None, ("L0H0", "encoder.L0H0"), 1.0)
    assert fact.sentence == "In the order of importance it is removed as number 1 of 60."
    assert curve_facts("curve", bad, bad, ("L9H9", "encoder.L9H9"), 1.0) == []


def test_roles_by_gates(tokenizer: Any) -> None:
    found = roles(tokenizer)
    (fact,) = gate_facts("roles", found, Head("encoder", 1, 2))
    assert "it is interfering: facilitation " in fact.sentence
    assert fact.sentence.endswith("; of the 1 interfering heads together, held-out examples confirm it.")
    assert fact.numbers["interference"] == pytest.approx(float(found["interference"].isel(stack=0, layer=1, head=2)))
    unsure = found.assign(verdict=("checked", np.array(["too few examples to tell"] * found.sizes["checked"], object)))
    (fact,) = gate_facts("roles", unsure, Head("encoder", 1, 2))
    assert "too few held-out examples" in fact.sentence


def test_budgets(tmp_path: Path) -> None:
    held_out = budget_dataset(CONFIRMED, 10_000, tolerance=1.0, budget="tolerance=1")
    step = int(held_out.attrs["chosen"])
    parts = held_out["parts"].values.copy()
    parts[0, step] = "L0H1, L2H0-1, L1U0-511"
    held_out = held_out.assign(parts=(("order", "step"), parts))
    layout = Layout.even({"encoder": (3, 4)})
    for head, taken in ((Head("encoder", 2, 1), True), (Head("encoder", 1, 1), False)):
        (fact,) = budget_facts("budget@prune-confirming", held_out, head, layout)
        assert f"(3 heads removed) {'removes' if taken else 'keeps'} it" in fact.sentence
    assert (
        budget_facts("budget@prune-confirming", held_out, Head("encoder", 0, 0), Layout.even({"encoder": (1, 1)})) == []
    )
    assert budget_facts("budget", held_out.assign_attrs(chosen=None), Head("encoder", 0, 0), layout) == []
