"""What "significant", "within tolerance" and "confirmed" mean, on curves whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.core.claims import (
    LEVEL,
    choose_cut,
    examples_needed,
    find_role,
    judge_cut,
    judge_role,
    significant,
    tolerance_of,
)
from tests.core.curves import accuracy_curve, as_loss


def test_significant_is_below_the_level() -> None:
    assert significant(np.array([0.0499, 0.05, np.nan, 0.9])).tolist() == [True, False, False, False]
    assert LEVEL == 0.05


@pytest.mark.parametrize(
    ("metric", "baseline", "expected"),
    [
        ("accuracy", 0.9, 0.01),
        ("f1", 0.9, 0.01),
        ("pearson", 0.8, 0.01),
        ("bleu", 30, 1),
        ("chrf", 50, 1),
        ("loss", 0.4, 0.01),
        ("loss", 3.2, 0.01),
        ("perplexity", 25, 0.25),
    ],
)
def test_a_point_is_one_thing_for_a_metric(metric: str, baseline: float, expected: float) -> None:
    """Whatever the size of the baseline: a loss above 1 has no larger points."""
    assert tolerance_of(1, metric, baseline) == pytest.approx(expected)


def test_few_examples_show_nothing() -> None:
    """One example of 70 is more than a point: a change of nothing at all is no proof."""
    curve = accuracy_curve([0, 1, 4], [0, 1, 0], 70)
    cut = choose_cut(curve, "importance", 1)
    assert (cut.count, cut.by_estimate) == (0, 20)
    assert cut.needed is not None
    assert cut.needed > 200
    assert choose_cut(curve, "importance", 1, by_estimate=True).count == 20


def test_many_examples_show_it() -> None:
    curve = accuracy_curve([20, 40, 60, 300], [20, 35, 10, 20], 10_000)
    assert choose_cut(curve, "importance", 1).count == 30
    assert choose_cut(curve, "importance", 0.3).count == 20
    assert choose_cut(as_loss(curve), "importance", 1).count == 30, "a loss that rises as an accuracy falls"


def test_no_cut_beyond_one_that_is_significantly_outside() -> None:
    curve = accuracy_curve([20, 600, 20], [20, 20, 20], 10_000)
    assert choose_cut(curve, "importance", 1).count == 10
    assert choose_cut(curve, "importance", 1, by_estimate=True).count == 10


def test_all_heads_are_never_chosen() -> None:
    curve = accuracy_curve([0] * 6, [0] * 6, 10_000)
    assert choose_cut(curve, "importance", 1).count == 50


@pytest.mark.parametrize(
    ("lost", "won", "examples", "expected"),
    [(30, 30, 10_000, "confirmed"), (300, 30, 10_000, "refuted"), (3, 1, 100, "too few examples to tell")],
)
def test_held_out_examples_judge(lost: int, won: int, examples: int, expected: str) -> None:
    curve = accuracy_curve([lost], [won], examples)
    assert judge_cut(curve, "importance", 10, 1) == expected
    assert judge_cut(as_loss(curve), "importance", 10, 1) == expected


def test_as_many_examples_as_were_said_to_be_needed_are_enough() -> None:
    """80 % of samples of that size show a cut that truly changes nothing to be within a point."""
    needed = examples_needed(accuracy_curve([5], [5], 200), "importance", 10, 1)
    assert needed is not None
    generator = np.random.default_rng(0)
    changes, times = np.unique(generator.multinomial(needed, [0.025, 0.025, 0.95], 400), axis=0, return_counts=True)
    curves = [accuracy_curve([a], [b], needed, 0) for a, b, _ in changes]
    shown = [judge_cut(curve, "importance", 10, 1) == "confirmed" for curve in curves]
    assert 0.7 < np.average(shown, weights=times) < 0.92
    assert examples_needed(accuracy_curve([5], [5], 200), "importance", 10, 0) is None, "no number shows a change of 0"


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=5), st.floats(0, 20))
def test_evidence_never_allows_more_than_the_estimate(steps: list[tuple[int, int]], points: float) -> None:
    curve = accuracy_curve([a for a, _ in steps], [b for _, b in steps], 100)
    shown, estimated = (choose_cut(curve, "importance", points, flag) for flag in (False, True))
    assert shown.count <= estimated.count == shown.by_estimate == estimated.by_estimate
    if shown.count:
        assert judge_cut(curve, "importance", shown.count, points) == "confirmed"


def test_a_truly_worse_cut_is_rarely_shown_to_be_within() -> None:
    """The rule's error rate: a cut that costs two points is called within one in at most 5 % of samples."""
    generator = np.random.default_rng(1)
    changes, times = np.unique(generator.multinomial(300, [0.05, 0.03, 0.92], 2000), axis=0, return_counts=True)
    wrong = [choose_cut(accuracy_curve([a], [b], 300, 0), "importance", 1).count > 0 for a, b, _ in changes]
    assert np.average(wrong, weights=times) <= 0.05


@pytest.mark.parametrize(
    ("role", "low", "high", "expected"),
    [
        ("interfering", -0.2, -0.1, "confirmed"),
        ("interfering", -0.2, 0.0, "too few examples to tell"),
        ("interfering", 0.0, 0.0, "refuted"),
        ("interfering", 0.1, 0.2, "refuted"),
        ("irrelevant", -0.2, 0.01, "confirmed"),
        ("irrelevant", 0.002, 0.008, "confirmed"),
        ("irrelevant", -0.2, 0.011, "too few examples to tell"),
        ("irrelevant", 0.005, 0.011, "too few examples to tell"),
        ("irrelevant", 0.011, 0.02, "refuted"),
    ],
)
def test_what_held_out_examples_say_about_a_role(role: str, low: float, high: float, expected: str) -> None:
    assert judge_role(role, low, high) == expected


def test_a_role_needs_all_seeds() -> None:
    """[role, seed, head]: agreed, disagreed, at the threshold, two roles at once, no such head."""
    first = np.array([[0.9, 0.9, 0.5, 0.9, np.nan], [0.1, 0.1, 0.1, 0.9, np.nan], [0, 0, 0.5, 0, np.nan]])
    second = np.array([[0.6, 0.1, 0.5, 0.9, np.nan], [0.1, 0.1, 0.1, 0.9, np.nan], [0, 0.8, 0.5, 0, np.nan]])
    np.testing.assert_array_equal(find_role(np.stack([first, second], 1)), [0, 3, 3, 3, np.nan])
