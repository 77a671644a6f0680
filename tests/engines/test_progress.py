"""Progress: what was done before counts, work may tell more often than unit by unit, and never goes back."""

from __future__ import annotations

from typing import Any

from headcount.engines.progress import Tally, in_step


def test_units_and_what_is_told_inside_of_them() -> None:
    told: list[Any] = []
    tally = Tally(lambda *at: told.append(at), 4, 10)
    tally.tick(1.5)
    tally.tick(0.5)
    tally.save(2)  # said already
    tally.save(4)  # not said
    assert told == [(4, 10), (5.5, 10), (6, 10), (10, 10)]


def test_nothing_to_do_is_not_told() -> None:
    told: list[Any] = []
    Tally(lambda *at: told.append(at), 0, 0)
    Tally(None, 0, 4).save(4)
    assert told == []


def test_a_step_has_a_name() -> None:
    told: list[Any] = []
    step = in_step(lambda *at: told.append(at), "gates")
    assert step is not None
    Tally(step, 0, 2).save(2)
    assert told == [(0, 2, "gates"), (2, 2, "gates")]
    assert in_step(None, "gates") is None
