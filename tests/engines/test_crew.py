"""How many workers: as asked, as many as there are GPUs, or as have room."""

from __future__ import annotations

import pytest

from headcount.engines.crew import Crew, plan_crew
from headcount.errors import HeadcountWarning, InvalidOption

GIGA = 10**9


def test_as_asked() -> None:
    assert plan_crew([{"CPU": 8.0, "memory": 9e9}], 3, None, GIGA) == Crew(3, 2, 0)
    assert plan_crew([{"CPU": 2.0, "GPU": 8.0}], None, 4, GIGA) == Crew(2, 1, 4)


def test_no_more_than_there_is_memory_for() -> None:
    assert plan_crew([{"CPU": 64.0, "memory": 70e9}], None, None, 2 * GIGA).count == 10
    assert plan_crew([{"CPU": 64.0, "memory": 1e9}], None, None, 2 * GIGA) == Crew(1, 64, 0)


def test_gpus_that_are_not_there() -> None:
    with pytest.raises(InvalidOption, match=r"got gpus_per_worker=1; the largest machine of the cluster has 0 GPUs"):
        plan_crew([{"CPU": 2.0}], None, 1, GIGA)


def test_every_worker_fits_on_a_machine() -> None:
    """Two machines of one core each have no room for a worker with two threads, nor for four GPUs in one process."""
    small = [{"CPU": 1.0, "GPU": 2.0}] * 2
    assert plan_crew(small, 1, 0, GIGA) == Crew(1, 1, 0)
    with pytest.raises(InvalidOption, match="the largest machine of the cluster has 2 GPUs"):
        plan_crew(small, None, 4, GIGA)


def test_more_than_there_is_room_for() -> None:
    with pytest.warns(HeadcountWarning, match="the cluster has room for 2 of the 5 workers at present"):
        assert plan_crew([{"CPU": 2.0}], 5, None, GIGA) == Crew(5, 1, 0)
