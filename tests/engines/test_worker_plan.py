"""How many workers: as asked, as many as there are GPUs, or as have room."""

from __future__ import annotations

import pytest

from headcount.engines.worker_plan import WorkerPlan, plan_workers
from headcount.errors import HeadcountWarning, InvalidOption

GIGA = 10**9


def test_as_asked() -> None:
    assert plan_workers([{"CPU": 8.0, "memory": 9e9}], 3, None, GIGA) == WorkerPlan(3, 2, 0)
    assert plan_workers([{"CPU": 2.0, "GPU": 8.0}], None, 4, GIGA) == WorkerPlan(2, 1, 4)


def test_no_more_than_there_is_memory_for() -> None:
    assert plan_workers([{"CPU": 64.0, "memory": 70e9}], None, None, 2 * GIGA).count == 10
    assert plan_workers([{"CPU": 64.0, "memory": 1e9}], None, None, 2 * GIGA) == WorkerPlan(1, 64, 0)


def test_gpus_that_are_not_there() -> None:
    with pytest.raises(InvalidOption, match=r"got gpus_per_worker=1; the largest machine of the cluster has 0 GPUs"):
        plan_workers([{"CPU": 2.0}], None, 1, GIGA)


def test_every_worker_fits_on_a_machine() -> None:
    """Two machines of one core each have no room for a worker with two threads, nor for four GPUs in one process."""
    small = [{"CPU": 1.0, "GPU": 2.0}] * 2
    assert plan_workers(small, 1, 0, GIGA) == WorkerPlan(1, 1, 0)
    with pytest.raises(InvalidOption, match="the largest machine of the cluster has 2 GPUs"):
        plan_workers(small, None, 4, GIGA)


def test_more_than_there_is_room_for() -> None:
    with pytest.warns(HeadcountWarning, match="the cluster has room for only 2 of the 5 workers at present"):
        assert plan_workers([{"CPU": 2.0}], 5, None, GIGA) == WorkerPlan(5, 1, 0)
