"""The simulation of many workers, with planted costs whose outcome is known."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from benchmarks.scaling import EFFICIENT, WORKERS, Costs, Network, free_of_charge, simulate, simulate_once

COSTS = Costs(
    machine="planted",
    batch_s=[0.5, 0.4, 0.3, 0.6],
    batch_bytes=100,
    result_bytes=4_000,
    weights_bytes=4e8,
    code_bytes=5e5,
    start_s=7.0,
    pack_s=0.05,
    put_s=0.05,
    take_s=0.04,
    submit_s=1e-4,
    receive_s=2e-4,
    hand_s=5e-7,
    call_s=5e-4,
    sized_call_s=5e-4,
    empty_unit_s=2e-5,
    join_s=1e-4,
    save_s=3e-3,
    save_byte_s=2e-8,
)
FREE = free_of_charge(COSTS)


def test_one_worker_takes_the_sum_of_the_batches() -> None:
    found = simulate(FREE, 1, 200, 8, Network(math.inf))
    assert found.seconds == pytest.approx(200 * 0.45)
    assert found.efficiency == pytest.approx(1)


def test_one_worker_waits_only_for_its_weights_and_for_the_last_unit() -> None:
    """While it works, its next call is on the way, and what the driver does takes no time of the worker."""
    found = simulate(COSTS, 1, 200, 8)
    start = COSTS.pack_s + COSTS.put_s + COSTS.take_s + COSTS.weights_bytes / Network().bytes_per_s
    calls = 200 * COSTS.sized_call_s
    assert 200 * 0.45 + start + calls < found.seconds < 200 * 0.45 + start + calls + 0.02


@pytest.mark.parametrize("costs", [FREE, COSTS], ids=["free", "with costs"])
def test_more_workers_are_never_slower_until_the_limit(costs: Costs) -> None:
    runs = [simulate(costs, workers, 1_000, 64) for workers in WORKERS]
    efficient = [run for run in runs if run.limit == "workers"]
    assert len(efficient) > 4
    for fewer, more in itertools.pairwise(efficient):
        assert more.seconds < fewer.seconds
    for run in runs:
        assert run.efficiency <= 1 + 1e-9
        assert run.seconds >= max(run.driver_s, run.work_s / run.workers) - 1e-9


def test_a_slow_driver_is_the_limit() -> None:
    slow = dataclasses.replace(COSTS, receive_s=0.02)
    found = simulate(slow, 64, 2_000, 64)
    assert found.limit == "driver CPU"
    assert found.seconds >= 2_000 * 0.02
    assert simulate(slow, 8, 2_000, 64).limit == "workers", "eight of them ask for less than it can do"


def test_saving_is_the_drivers_work_too() -> None:
    slow = dataclasses.replace(COSTS, save_s=0.5)
    assert simulate(slow, 64, 2_000, 64).limit == "driver CPU"


def test_a_narrow_link_is_the_limit() -> None:
    large = dataclasses.replace(COSTS, result_bytes=50e6, save_byte_s=0.0)
    found = simulate(large, 64, 2_000, 64)
    assert found.limit == "network of the driver"
    assert found.seconds >= 2_000 * 50e6 / Network().bytes_per_s
    assert simulate(large, 64, 2_000, 64, Network(math.inf)).limit != "network of the driver"


def test_too_few_batches_are_the_limit() -> None:
    found = simulate(COSTS, 64, 70, 64)
    assert found.limit == "too few batches"
    assert found.efficiency < EFFICIENT


def test_weights_go_to_each_node_once() -> None:
    each = 300 * (COSTS.batch_bytes + COSTS.result_bytes)
    for workers, nodes in ((4, 1), (8, 1), (9, 2), (64, 8)):
        found = simulate(COSTS, workers, 300, 10)
        assert found.nodes == nodes
        assert found.traffic == nodes * (COSTS.weights_bytes + COSTS.code_bytes) + each


def test_workers_without_a_batch_are_not_started() -> None:
    assert simulate(COSTS, 64, 5, 5).nodes == 1


def test_results_wait_for_the_rest_of_their_unit() -> None:
    """In one unit all of them do, in many only those that are on the way."""
    known = 2 * COSTS.weights_bytes + 400 * COSTS.result_bytes
    whole, parts = (simulate_once(COSTS, 2, 400, units, Network()).memory - known for units in (1, 400))
    assert whole == 400 * COSTS.result_bytes
    assert parts == COSTS.result_bytes


def test_short_batches_share_a_call() -> None:
    """Of a hundredth of a second each, 25 in a call that takes a quarter: the driver is asked that much less often."""
    short = dataclasses.replace(COSTS, batch_s=[0.01], pack_s=0.0, put_s=0.0, join_s=0.0, save_s=0.0, save_byte_s=0.0)
    found = simulate(short, 2, 10_000, 10)
    once = short.submit_s + short.receive_s + 2 * short.hand_s
    assert found.driver_s < 10_000 * once / 15
