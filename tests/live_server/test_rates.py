"""The rate of an address: a burst at once, then as many as the clock allows; others are not affected."""

from __future__ import annotations

from headcount.live_server.rates import Rates


def test_a_burst_and_then_a_steady_rate() -> None:
    now = [0.0]
    rates = Rates(rate=2, burst=3, clock=lambda: now[0])
    assert [rates.take("a") for _ in range(4)] == [True, True, True, False]
    assert rates.take("b")
    now[0] = 1.0
    assert [rates.take("a") for _ in range(3)] == [True, True, False]
    now[0] = 100.0
    assert [rates.take("a") for _ in range(4)] == [True, True, True, False]


def test_addresses_are_forgotten() -> None:
    rates = Rates(most=10)
    for number in range(100):
        rates.take(str(number))
    assert len(rates.buckets) == 10
