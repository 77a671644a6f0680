"""A budget in sentences that its own numbers do not refute."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headcount.story.budgets import budget_sentences, control_sentences, left_sentences, speed_sentence
from tests.planted_budgets import CONFIRMED, SEQ2SEQ, as_loss, budget_dataset

FEW = {"both": (3, 3, 3, 30), "heads only": (4, 5, 6, None), "random 0": (4, 5, 6, 7)}
"""Of 100 examples: nothing can be told."""
LEFT = "Budget operations=50%: 6 of 12 heads and 48 of 96 feed-forward units are left"
EVALUATED = "Selected on one half of the examples, evaluated on the held-out half"
SAME, SURE = "at the same operations", "one-sided 95 % confidence"
TOLERANCE = {"budget": "tolerance=1", "tolerance": 1.0}


def twice(budget: xr.Dataset) -> list[str]:
    return budget_sentences(budget, budget)


def test_a_confirmed_budget() -> None:
    assert twice(budget_dataset(CONFIRMED, 10_000)) == [
        f"{LEFT}; what is left was refitted by least squares, without training.",
        "That is 54.6 % of the parameters and 49.6 % of the operations.",
        (
            "It is 2.00 [1.94, 2.06] (median and quartiles) times as fast as the whole model, measured at batch 16, "
            "length 128."
        ),
        f"{EVALUATED}: accuracy changes by -0.0010 [-0.0022, +0.0001] on 10,000 examples.",
        f"That it stays within 1 point of accuracy is confirmed by the held-out examples ({SURE}).",
        "Heads only does not reach this share of the operations.",
        f"Random heads and units {SAME}: -0.1540 on average of 2 draws; all worse, no interval overlaps.",
    ]


def test_what_the_selection_half_promised_the_held_out_half_may_refute() -> None:
    choosing = budget_dataset(CONFIRMED, 10_000, **TOLERANCE)
    confirming = budget_dataset({**CONFIRMED, "both": (400, 400, 400, 600)}, 10_000, **TOLERANCE)
    sentences = budget_sentences(choosing, confirming)
    assert f"Selected because it is shown to stay within 1 point of accuracy on 10,000 examples ({SURE})." in sentences
    assert any("accuracy changes by -0.0390 [-0.0431, -0.0353] on 10,000 examples." in one for one in sentences)
    assert f"That it stays within 1 point of accuracy is refuted by the held-out examples ({SURE})." in sentences


def test_too_few_examples_to_tell() -> None:
    sentences = twice(budget_dataset(FEW, 100, won=2, **TOLERANCE))
    assert (
        "Selected because it stays within 1 point of accuracy on 100 examples by its point estimate alone." in sentences
    )
    assert sentences[-3:] == [
        "Too few held-out examples to tell whether it stays within 1 point of accuracy: about 4,493 would be needed.",
        f"Heads only {SAME}: -0.04 [-0.11, +0.02]; not clearly worse or better by their intervals.",
        f"Random heads and units {SAME}: -0.04; not clearly worse or better by their intervals.",
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("1.9", "The speed that was asked for, 1.9 times the whole model's, is reached."),
        ("2", "Whether the speed that was asked for, 2 times the whole model's, is reached is not clear from the "),
        ("2.5", "The speed that was asked for, 2.5 times the whole model's, is not reached."),
    ],
)
def test_a_speed_is_reached_only_if_its_interval_says_so(asked: str, said: str) -> None:
    """The measured speed of the chosen step is 2.00 [1.94, 2.06]."""
    sentences = twice(budget_dataset(CONFIRMED, 10_000, budget=f"faster={asked}", currency="time"))
    assert sentences[3].startswith(said)
    assert not any("asked for" in one for one in (*sentences[:3], *sentences[4:]))


def test_nothing_is_said_of_a_speed_that_was_not_measured_or_not_asked_for() -> None:
    unmeasured = budget_dataset(CONFIRMED, 10_000, speeds=False, budget="faster=2", currency="time")
    for budget in (unmeasured, budget_dataset(CONFIRMED, 10_000, budget="operations=50%")):
        assert not any("asked for" in one for one in twice(budget))


def test_a_step_that_was_selected_against_its_own_half() -> None:
    sentences = twice(budget_dataset(CONFIRMED, 10_000, chosen=3, **TOLERANCE))
    assert "It does not stay within 1 point of accuracy on 10,000 examples, the half that selected it." in sentences


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ((5, 3000, 3000), "1 of 3 clearly worse"),
        ((10, 20, 30), "not clearly worse or better"),
    ],
)
def test_random_parts_are_worse_only_if_their_intervals_say_so(lost: tuple[int, ...], said: str) -> None:
    draws = {f"random {draw}": (one,) * 4 for draw, one in enumerate(lost)}
    sentence = control_sentences(budget_dataset({"both": (20,) * 4} | draws, 10_000), 2)[-1]
    assert said.replace("1 of 3", "2 of 3") in sentence
    assert "all" not in sentence


def test_a_control_that_is_better_is_called_better() -> None:
    budget = budget_dataset({"both": (900,) * 4, "heads only": (10,) * 4, "random 0": (10,) * 4}, 10_000)
    for sentence in (*control_sentences(budget, 1), *control_sentences(as_loss(budget), 1)):
        assert sentence.endswith("better, the intervals do not overlap.")


def test_controls_with_other_operations_are_not_at_the_same() -> None:
    budget = budget_dataset({"both": (20,) * 4, "heads only": (20,) * 4}, 10_000)
    operations = budget["operations"].copy()
    operations[1] = 0.7
    assert control_sentences(budget.assign(operations=operations), 2)[0].startswith("Heads only at 70.0 % of the op")


def test_a_loss_says_that_lower_is_better() -> None:
    sentences = twice(as_loss(budget_dataset(CONFIRMED, 10_000)))
    assert "loss changes by +0.0010 [-0.0001, +0.0022] from 0.900 [0.880, 0.920] (lower is better)" in sentences[3]
    assert "1 point of loss is confirmed" in sentences[4]
    assert sentences[-1].endswith("+0.1540 on average of 2 draws; all worse, no interval overlaps.")


def test_nothing_is_selected() -> None:
    (out_of_reach,) = twice(budget_dataset(CONFIRMED, 10_000, chosen=None, budget="operations=20%"))
    assert out_of_reach == (
        "Nothing is selected for the budget operations=20%: no step of the curve keeps it; the smallest model has "
        "34.6 % of the operations and 39.6 % of the parameters."
    )
    (not_shown,) = twice(budget_dataset(FEW, 100, won=2, chosen=None, **TOLERANCE))
    assert not_shown == (
        "Nothing is selected for the budget tolerance=1: no step can be shown to stay within 1 point of accuracy "
        f"({SURE}) with 100 examples; about 4,493 would be needed for the first step. By point estimate alone a model "
        "with 49.6 % of the operations does."
    )
    (far_off,) = twice(budget_dataset({"both": (900,) * 4}, 1000, chosen=None, **TOLERANCE))
    assert far_off == (
        "Nothing is selected for the budget tolerance=1: no step stays within 1 point of accuracy, not even by its "
        "point estimate, on 1,000 examples."
    )


def test_a_speed_is_a_gain_only_if_its_interval_says_so() -> None:
    budget = budget_dataset(CONFIRMED, 10_000)
    slow = budget.assign(speed_low=0.9 + 0 * budget["speed_low"])
    assert speed_sentence(slow, 0) == (
        "No clear difference in speed: 1.25 [0.90, 1.29] (median and quartiles) times the whole model's, measured at "
        "batch 16, length 128."
    )
    assert speed_sentence(budget_dataset(CONFIRMED, 10_000, speeds=False), 0) == "Its speed was not measured."


def test_what_is_left_of_several_stacks() -> None:
    budget = budget_dataset(CONFIRMED, 10_000, whole=SEQ2SEQ, refit=False)
    assert left_sentences(budget, 2)[0] == (
        "Budget operations=50%: 14 of 28 heads and 96 of 192 feed-forward units are left."
    )
    whole = budget.assign(heads_left=budget["heads_left"] * 0 + budget["heads_whole"])
    assert "all 28 heads and 96 of" in left_sentences(whole, 2)[0]
    without = budget.assign({name: budget[name] * np.nan for name in ("units_left", "units_whole")})
    assert left_sentences(without, 2)[0] == "Budget operations=50%: 14 of 28 heads are left."


@pytest.mark.parametrize(
    ("currency", "said"), [("operations", "operations"), ("weights", "parameters"), ("time", "time")]
)
def test_steps_are_shares_of_the_currency(currency: str, said: str) -> None:
    budget = budget_dataset(CONFIRMED, 10_000, currency=currency)
    assert f"Heads only does not reach this share of the {said}." in twice(budget)


def test_random_parts_are_of_the_kind_that_was_removed() -> None:
    budget = budget_dataset({"heads": (12,) * 4, "random 0": (12,) * 4}, 10_000, what="heads")
    assert control_sentences(budget, 2)[0].startswith("Random heads at the same operations: ")
