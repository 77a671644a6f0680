"""How often is measured: never for more than a share of the time, with the last measurement in reserve."""

from __future__ import annotations

import pytest

from headcount.choosing.pace import MOST, SHARE, Pace


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def train(total: int, step_seconds: float, seconds: float, every: int | None = None) -> tuple[Pace, list[int]]:
    """A training whose steps and measurements take so long."""
    clock, measured = Clock(), []
    pace = Pace(total, every, clock)
    for step in range(total + 1):
        clock.now += step_seconds if step else 0
        if pace.is_due(step):
            with pace.measuring():
                clock.now += seconds
            measured.append(step)
    return pace, measured


@pytest.mark.parametrize(("step", "seconds"), [(0.1, 0.1), (1.0, 0.3), (0.05, 0.4), (1.0, 40.0)])
def test_at_most_a_share_of_the_time(step: float, seconds: float) -> None:
    pace, measured = train(2000, step, seconds)
    assert pace.share <= SHARE + 1e-9
    assert measured[0] == 0
    assert measured[-1] == 2000
    assert len(measured) <= MOST + 1
    affordable = int(SHARE * 2000 * step / seconds)
    assert len(measured) >= min(MOST, affordable) - 2, "what can be afforded is used"


def test_first_and_last_are_measured_even_if_a_training_is_too_short() -> None:
    pace, measured = train(10, 0.1, 0.5)
    assert measured == [0, 10]
    assert pace.share == pytest.approx(1.0)


def test_a_number_of_steps_is_kept_whatever_it_takes() -> None:
    assert train(10, 0.1, 5.0, every=4)[1] == [0, 4, 8, 10]


def test_steps_are_spread_over_the_training() -> None:
    measured = train(1000, 1.0, 0.01)[1]
    assert measured == [*range(0, 1001, 10)]


def test_what_fails_is_counted_too() -> None:
    clock = Clock()
    pace = Pace(10, None, clock)
    with pytest.raises(ValueError, match="failed"), pace.measuring():
        clock.now += 2
        raise ValueError("failed")
    assert (pace.spent, pace.latest) == (2, 2)
    assert pace.share == 0, "no step has been trained"
