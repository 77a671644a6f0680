"""All runs, in their order; several at a time are tested with real ones, in `test_finetune` and `test_partial`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headcount.engines.progress import Progress
from headcount.errors import DataProblem
from headcount.training.perform_all import perform_all


@dataclass(frozen=True)
class Count:
    number: int
    folder: Path


def count(run: Count, progress: Progress | None = None) -> dict[str, Any]:
    if run.number < 0:
        raise DataProblem("below zero")
    if progress is not None:
        progress(1, 2)
    return {"number": run.number}


def test_results_are_in_the_order_of_the_runs(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "result.json").write_text("{}")
    ticks: list[Any] = []
    runs = [Count(number, tmp_path / str(number)) for number in range(4)]
    results = perform_all(runs, count, 1, lambda *reached: ticks.append(reached))
    assert [result["number"] for result in results] == [0, 1, 2, 3]
    assert ticks[-1] == (4, 4)
    assert ticks[:2] == [(1.5, 4), (2, 4)], "a finished run counts from the start"


def test_an_error_in_a_run_is_the_error_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="below zero"):
        perform_all([Count(number, tmp_path) for number in (1, -1, 2)], count, 1, None)
