"""When is importance computed along a training? About a hundred times, and never more than a share of the time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.05
"""The largest share of a training's time that may be spent."""
MOST = 100
"""How many times are enough for a curve."""


class Pace:
    """Says at which steps it is time, from what the measurements before have taken.

    The first and the last step always are. `every`: steps between two measurements, whatever they take; None for
    `MOST` of them, fewer where they would take more than `SHARE` of the training's own time. The time of the last
    measurement is kept in reserve.

    >>> pace = Pace(10, every=4)
    >>> [step for step in range(11) if pace.is_due(step)]
    [0, 4, 8, 10]
    """

    def __init__(self, total: int, every: int | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        self.total, self.every, self.clock = total, every, clock
        self.stride = every or max(1, math.ceil(total / MOST))
        self.started, self.spent, self.latest = clock(), 0.0, 0.0

    def is_due(self, step: int) -> bool:
        if step in (0, self.total):
            return True
        if step % self.stride:
            return False
        return self.every is not None or self.spent + 2 * self.latest <= SHARE * self.trained

    @property
    def trained(self) -> float:
        """Seconds of the training so far, without those of measurements."""
        return self.clock() - self.started - self.spent

    @property
    def share(self) -> float:
        """The time of all measurements as a share of the training's own."""
        return self.spent / self.trained if self.trained > 0 else 0.0

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Everything inside counts as spent."""
        start = self.clock()
        try:
            yield
        finally:
            self.latest = self.clock() - start
            self.spent += self.latest
