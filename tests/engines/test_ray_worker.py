"""What a worker answers: results, errors, warnings, time and progress, whatever it is asked."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from headcount.engines.parcel import pack
from headcount.engines.ray_worker import PACKAGES, Worker, compared_versions
from headcount.engines.torch_modes import TorchModes
from headcount.engines.workers import tick
from headcount.errors import DataProblem, HeadcountWarning


@pytest.fixture(autouse=True)
def same_threads() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def worker(work: Any) -> Worker:
    made, parcel = Worker(1, on_gpu=False), pack(work)
    made.take(parcel.code, list(parcel.weights), TorchModes.here(), list(parcel.weights), *parcel.weights.values())
    return made


def test_it_says_who_it_is() -> None:
    said, place = Worker(1, on_gpu=False).hello()
    assert said == compared_versions()
    assert set(PACKAGES) < set(said)
    assert "process" in place


def test_batches_in_order_with_their_progress() -> None:
    def work(batch: int) -> int:
        tick(batch / 2)
        return batch * 10

    answer = worker(work).run([1, 2, 3])
    assert answer.results == [10, 20, 30]
    assert answer.ticks == 3
    assert answer.seconds > 0
    assert answer.problem is None


def test_an_error_ends_the_batches() -> None:
    def work(batch: int) -> int:
        if batch == 2:
            raise DataProblem("row 2")
        return batch

    answer = worker(work).run([1, 2, 3])
    assert answer.results == [1]
    assert isinstance(answer.problem, DataProblem)
    assert not answer.out_of_memory


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_too_little_memory_is_told_apart(error: Any) -> None:
    def work(batch: int) -> int:
        raise error("no room")

    answer = worker(work).run([1])
    assert answer.out_of_memory
    assert str(answer.problem) == "no room"


def test_warnings_are_passed_on() -> None:
    def work(batch: int) -> None:
        warnings.warn("blank rows", HeadcountWarning, stacklevel=1)

    assert worker(work).run([1]).warned == [(HeadcountWarning, "blank rows")]


def test_modes_of_the_driver_apply() -> None:
    with torch.no_grad():
        made = worker(lambda _: torch.is_grad_enabled())
    assert made.run([0]).results == [False]
    assert torch.is_grad_enabled()
