"""How long the rest takes, told from what was done in the time since, and an estimate before a long run."""

from __future__ import annotations

import pytest

from headcount.cli.time_left import Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def paced(unit: str = "examples", **options: bool) -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(unit, clock=clock, **options), clock


def test_the_line() -> None:
    pace, clock = paced()
    clock.now += 20
    assert pace.line() == "preparing, 20 s so far"
    pace.reach(0, 400)
    assert pace.line() == "0 of 400 examples (0 %), time left unknown"
    clock.now += 30
    pace.reach(100.7, 400)
    assert pace.line() == "100 of 400 examples (25 %), 3.4/s, 89 s left"
    clock.now += 30
    pace.reach(200, 400)
    clock.now += 60
    assert pace.line() == "200 of 400 examples (50 %), 1.7/s, 2 min left", "a minute without news counts"
    pace.reach(400, 400)
    assert pace.line() == "400 of 400 examples (100 %), done"


def test_what_was_done_before_took_no_time() -> None:
    pace, clock = paced()
    pace.reach(300, 400)
    clock.now += 10
    pace.reach(350, 400)
    assert pace.left() == pytest.approx(10)


@pytest.mark.parametrize("following", [(10, 50, "b"), (10, 60, "a"), (5, 50, "a")])
def test_a_new_piece_of_work_begins_anew(following: tuple[float, float, str]) -> None:
    pace, clock = paced()
    pace.reach(0, 50, "a")
    clock.now += 1000
    pace.reach(40, 50, "a")
    pace.reach(*following)
    assert pace.left() is None
    clock.now += 1
    pace.reach(following[0] + 1, *following[1:])
    assert pace.left() == pytest.approx(following[1] - following[0] - 1)
    assert pace.line().startswith(f"{following[2]}: ")


def test_parts_of_a_run() -> None:
    pace, clock = paced("runs")
    pace.reach(1, 6)
    clock.now += 1
    pace.reach(1.25, 6)
    assert pace.line() == "1.2 of 6 runs (20 %), 15.0/min, 19 s left"


def test_the_estimate_of_a_long_run_is_given_once() -> None:
    pace, clock = paced(limited=True)
    pace.reach(0, 438)
    clock.now += 8
    pace.reach(1, 438)
    assert pace.estimate() is None, "too early to tell"
    clock.now += 8
    pace.reach(4.6, 438)
    assert (
        pace.estimate("144 heads on ")
        == "about 25 min for 144 heads on 438 examples; --limit 100 would take about 6 min"
    )
    assert pace.estimate() is None


def test_no_estimate_of_a_short_run_and_no_limit_where_there_is_none() -> None:
    pace, clock = paced()
    pace.reach(0, 438)
    clock.now += 10
    pace.reach(8, 438)
    assert pace.estimate() is None, "nine minutes"
    pace.reach(0, 438, "curves")
    clock.now += 10
    pace.reach(2, 438, "curves")
    assert pace.estimate() == "about 36 min for 438 examples (curves)"
