"""A choice of heads in sentences that its own numbers do not refute."""

from __future__ import annotations

from headcount.story.cuts import (
    control_clause,
    cut_sentence,
    recovery_sentence,
    selection_sentence,
    verdict_sentence,
)
from tests.core.curves import accuracy_curve, as_loss


def test_a_cut_stands_beside_its_control() -> None:
    curve = accuracy_curve([6], [2], 200, randoms=2)
    assert cut_sentence(curve, "importance", 10) == (
        "Without 10 of 60 heads (ordered by importance) accuracy changes by -0.020 [-0.055, +0.010] on 200 held-out "
        "examples; random orders: -0.050 on average of 2."
    )
    assert control_clause(accuracy_curve([6], [2], 200, randoms=0), "importance", 10) == ""
    assert control_clause(accuracy_curve([6], [2], 200), "importance", 10) == "; a random order: -0.050"


def test_a_perplexity_says_where_it_starts_and_that_lower_is_better() -> None:
    curve = as_loss(accuracy_curve([6], [2], 200)).assign_attrs(metric="perplexity", heads_per_group=5)
    curve = curve.assign(baseline=34.5, baseline_low=30.123, baseline_high=40.0)
    assert cut_sentence(curve, "importance", 10) == (
        "Without 10 of 60 heads (2 of 12 key/value groups, ordered by importance) perplexity changes by +0.020 "
        "[-0.010, +0.055] from 34.5 [30.1, 40.0] (lower is better) on 200 held-out examples; a random order: +0.050."
    )
    assert " from 34.50 (lower is better) on" in cut_sentence(curve.drop_vars("baseline_low"), "importance", 10)
    assert selection_sentence(curve, "importance", 1).startswith(
        "Selected: 10 heads, the largest cut shown to stay within 1 % of"
    )
    assert verdict_sentence(curve, "importance", 10, 1).startswith("That it stays within 1 % is confirmed")


def test_a_recovery_stands_beside_the_whole_model() -> None:
    numbers = (0.7, 0.78, (0.8, 0.75, 0.85), (-0.02, -0.05, 0.01))
    assert recovery_sentence("accuracy", "60 steps", *numbers) == (
        "Fine-tuned for 60 steps on the selection half: accuracy 0.700 -> 0.780 on the held-out half, -0.020 "
        "[-0.050, +0.010] from the whole model (0.80 [0.75, 0.85])."
    )


def test_what_cannot_be_shown_says_what_would_show_it() -> None:
    curve = accuracy_curve([1, 9], [1, 0], 200)
    assert selection_sentence(curve, "importance", 1).startswith(
        "No cut can be shown to stay within 1 point of accuracy (one-sided 95 % confidence) with 200 examples; about "
    )
    assert selection_sentence(curve, "importance", 1).endswith(
        "The largest cut whose point estimate stays within it on these examples removes 10 heads."
    )
    assert selection_sentence(curve, "importance", 1, by_estimate=True) == (
        "Selected: 10 heads, the largest cut within 1 point of accuracy by point estimate alone on 200 examples."
    )
    assert verdict_sentence(curve, "importance", 10, 1).startswith(
        "Too few held-out examples to tell whether it stays within 1 point: about "
    )


def test_what_can_be_shown() -> None:
    curve = accuracy_curve([30, 900], [30, 30], 10_000)
    assert selection_sentence(curve, "importance", 0.5) == (
        "Selected: 10 heads, the largest cut shown to stay within 0.5 points of accuracy (one-sided 95 % confidence) "
        "on 10000 examples."
    )
    assert verdict_sentence(curve, "importance", 10, 1) == (
        "That it stays within 1 point is confirmed by the held-out examples (one-sided 95 % confidence)."
    )
    assert "refuted" in verdict_sentence(curve, "importance", 20, 1)
    assert selection_sentence(accuracy_curve([900], [0], 10_000), "importance", 1) == (
        "No cut stays within 1 point of accuracy, not even by its point estimate, on 10000 examples."
    )
