"""Do the curves say of every trial what it lost and what is left, and NaN of what was not tried?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.ablation.paired import score_changes
from headcount.budgets.summaries import summarise
from headcount.budgets.trials import HALVES, NUMBERS, Trial, Tried
from headcount.core.budget_schemas import budget_schemas
from headcount.core.units import Selection
from headcount.data.kinds.metrics import ACCURACY, PERPLEXITY
from headcount.data.tasks import find_task
from headcount.pruning.held_out import HeldOut
from tests.budgets import small

PLAN = [
    ("both", 0.5, ["L0H1", "L1U0-9", "L2U"]),
    ("both", 0.8, ["L0H1", "L1U0-3"]),
    ("heads only", 0.8, ["L0", "L1H0"]),
]


def planned(anatomy: Any) -> list[Trial]:
    return [Trial(order, target, Selection.of(names, anatomy.layout, anatomy.units)) for order, target, names in PLAN]


@pytest.fixture(scope="module")
def held_out(tokenizer: Any) -> HeldOut:
    model = small.classifier()
    data = small.own_answers(model, tokenizer, 40)
    return HeldOut.read(model, tokenizer, data, find_task("sst2"), ACCURACY)


def given(held_out: HeldOut) -> Tried:
    """The whole model is right everywhere; the trials are wrong for 1, 2 and 3 examples."""
    right = np.eye(2)[np.asarray(held_out.examples.labels, dtype=int)]
    outputs = [right]
    for wrong in (1, 2, 3):
        outputs.append(np.concatenate([right[:wrong, ::-1], right[wrong:]]))
    numbers = {name: np.array([1.0, 2.0, 3.0]) + 10 * at for at, name in enumerate(NUMBERS)}
    return Tried(numbers, {half: [{"logits": logits} for logits in outputs] for half in HALVES})


def test_the_curve(held_out: HeldOut) -> None:
    anatomy = hc.read_anatomy(small.classifier())
    tried = given(held_out)
    found = summarise("confirming", held_out, planned(anatomy), tried, anatomy, seed=0)
    assert list(found["order"][1]) == ["both", "heads only"]
    assert list(found["step"][1]) == [0.8, 0.5]
    np.testing.assert_allclose(found["score"][1], [[1 - 2 / 40, 1 - 1 / 40], [1 - 3 / 40, np.nan]])
    np.testing.assert_allclose(found["delta"][1], [[-2 / 40, -1 / 40], [-3 / 40, np.nan]])
    assert float(found["baseline"][1]) == 1
    for at, name in enumerate(NUMBERS):
        np.testing.assert_array_equal(found[name][1], [[2 + 10 * at, 1 + 10 * at], [3 + 10 * at, np.nan]])
    expected = score_changes(tried.outputs["confirming"], held_out.examples.labels, ACCURACY, find_task("sst2").kind, 0)
    for name in ("low", "high", "bound_low", "bound_high", "p"):
        first, second, third = expected[name]
        np.testing.assert_array_equal(found[name][1], [[second, first], [third, np.nan]])
    assert (found["low"][1] <= found["delta"][1])[np.isfinite(found["delta"][1])].all()


def test_what_is_left(held_out: HeldOut) -> None:
    anatomy = hc.read_anatomy(small.classifier())
    found = summarise("choosing", held_out, planned(anatomy), given(held_out), anatomy, seed=0)
    assert found["parts"][1].tolist() == [["L0H1, L1U0-3", "L0H1, L1U0-9, L2U"], ["L0, L1H0", ""]]
    assert found["heads_whole"][1].tolist() == [[4, 4, 4]]
    assert found["units_whole"][1].tolist() == [[40, 40, 40]]
    nothing = [[np.nan] * 3]
    np.testing.assert_array_equal(found["heads_left"][1], [[[[3, 4, 4]], [[3, 4, 4]]], [[[0, 3, 4]], nothing]])
    np.testing.assert_array_equal(found["units_left"][1], [[[[40, 36, 40]], [[40, 30, 0]]], [[[40, 40, 40]], nothing]])


def test_stacks_without_units(tokenizer: Any) -> None:
    """Cross-attention has heads alone."""
    model, data = small.family("t5")
    anatomy, task = hc.read_anatomy(model), find_task("translation")
    held = HeldOut.read(model, tokenizer, data, task, PERPLEXITY)
    removed = Selection.of(["cross.L1H0", "decoder.L0U0-3"], anatomy.layout, anatomy.units)
    whole = held.outputs(model)
    tried = Tried({name: np.ones(1) for name in NUMBERS}, {"choosing": [whole, whole]})
    found = summarise("choosing", held, [Trial("both", 0.5, removed)], tried, anatomy, seed=0)
    stacks = list(found["stack"][1])
    cross, decoder = stacks.index("cross"), stacks.index("decoder")
    assert np.isnan(found["units_whole"][1][cross]).all()
    assert np.isnan(found["units_left"][1][0, 0, cross]).all()
    assert found["heads_left"][1][0, 0, cross].tolist() == [4, 3, 4]
    assert found["units_left"][1][0, 0, decoder].tolist() == [36, 40, 40]


def test_all_numbers_have_a_schema(held_out: HeldOut) -> None:
    anatomy = hc.read_anatomy(small.classifier())
    found = summarise("choosing", held_out, planned(anatomy), given(held_out), anatomy, seed=0)
    assert set(budget_schemas("accuracy", True)) <= set(found)
