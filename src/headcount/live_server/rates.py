"""How often an address may ask: a bucket that fills at a steady rate and holds a burst."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from headcount.live_server.limits import LIMITS


class Rates:
    """A bucket for each address; those that were not seen for long are forgotten."""

    def __init__(
        self,
        rate: float = LIMITS.rate,
        burst: int = LIMITS.burst,
        most: int = 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate, self.burst, self.most, self.clock = rate, burst, most, clock
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> bool:
        """Whether a request of this address is within the rate; it then counts."""
        now = self.clock()
        left, before = self.buckets.pop(address, (float(self.burst), now))
        left = min(float(self.burst), left + (now - before) * self.rate)
        allowed = left >= 1
        self.buckets[address] = (left - 1 if allowed else left, now)
        while len(self.buckets) > self.most:
            self.buckets.popitem(last=False)
        return allowed
