"""How far a run is, how long the rest will take, and whether that is long enough for an estimate in advance."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 600
"""Seconds: runs that take longer get an estimate."""
FIRST = 10
"""Seconds of work before an estimate is made."""
FEW = 100
"""The --limit that an estimate suggests."""


class Pace:
    """Work done and total work over time. What a resumed run has done before its first call does not count."""

    def __init__(self, unit: str, limited: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.unit, self.limited, self.clock = unit, limited, clock
        self.start, self.before = clock(), 0.0
        self.done, self.total = 0.0, 0.0
        self.stage: str | None = None
        self.estimated = False

    def reach(self, done: float, total: float, stage: str | None = None) -> None:
        """Record progress; another total, another stage or less work done than before starts a new measurement."""
        if (stage, total) != (self.stage, self.total) or done < self.done:
            self.start, self.before, self.stage, self.total = self.clock(), done, stage, total
        self.done = done

    def rate(self) -> float | None:
        """Units in a second, or None while unknown."""
        elapsed, done = self.clock() - self.start, self.done - self.before
        return done / elapsed if done > 0 and elapsed > 0 else None

    def left(self) -> float | None:
        """Seconds, or None while unknown."""
        rate = self.rate()
        return None if rate is None else (self.total - self.done) / rate

    def line(self) -> str:
        """Done, total and time left."""
        if not self.total:
            return f"preparing, {spell_time(self.clock() - self.start)} so far"
        rate = self.rate()
        rest = (
            "done"
            if self.done >= self.total
            else f"{spell_rate(rate)}, {spell_time((self.total - self.done) / rate)} left"
            if rate is not None
            else "time left unknown"
        )
        stage = f"{self.stage}: " if self.stage else ""
        done = f"{self.done:.1f}" if self.total < 20 and self.done % 1 else f"{int(self.done):,}"
        return f"{stage}{done} of {self._all()} ({int(100 * self.done / self.total)} %), {rest}"

    def _all(self) -> str:
        return f"{self.total:,.0f} {self.unit}".rstrip()

    def estimate(self, of: str = "") -> str | None:
        """How long a long run will take: returned once, after its first seconds; `of` precedes the number of units."""
        left, elapsed = self.left(), self.clock() - self.start
        if self.estimated or left is None or elapsed < FIRST or elapsed + left < LONG:
            return None
        self.estimated = True
        each = elapsed / (self.done - self.before)
        stage = f" ({self.stage})" if self.stage else ""
        shorter = (
            f"; --limit {FEW} would take about {spell_time(each * FEW)}"
            if self.limited and self.total > 2 * FEW
            else ""
        )
        return f"about {spell_time(each * self.total)} for {of}{self._all()}{stage}{shorter}"


def spell_rate(rate: float) -> str:
    """How many units are done in a second, a minute or an hour.

    >>> spell_rate(1234.5), spell_rate(2.51), spell_rate(0.05), spell_rate(0.001)
    ('1,234/s', '2.5/s', '3.0/min', '3.6/h')
    """
    seconds, name = next(((n, each) for n, each in ((1, "s"), (60, "min")) if rate * n >= 1), (3600, "h"))
    return f"{rate * seconds:,.0f}/{name}" if rate * seconds >= 100 else f"{rate * seconds:.1f}/{name}"


def spell_time(seconds: float) -> str:
    """A duration in seconds, minutes or hours.

    >>> spell_time(42), spell_time(1500), spell_time(9000)
    ('42 s', '25 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
