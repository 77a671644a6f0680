"""All runs of a call, one after the other, several at a time in processes of their own, or on a cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from headcount.core.options import without_effect
from headcount.engines.executors import current_executor
from headcount.engines.progress import Progress
from headcount.errors import HeadcountError
from headcount.training.elsewhere import perform_elsewhere
from headcount.training.run_folder import RESULT


class Run(Protocol):
    """What is known of every run: where its result goes."""

    @property
    def folder(self) -> Path: ...


Perform = Callable[[Any, Progress | None], dict[str, Any]]
"""Performs a run, or reads the result of a finished one."""


def perform_all(
    runs: Sequence[Run],
    perform: Perform,
    jobs: int,
    progress: Progress | None,
    again: Sequence[Run] = (),
) -> list[dict[str, Any]]:
    """The results of all runs, in their order; `jobs` of them are performed at a time.

    `again`: finished runs that are performed once more, for the progress.
    """
    repeated = {run.folder for run in again}
    finished = [(run.folder / RESULT).is_file() and run.folder not in repeated for run in runs]
    done = sum(finished)  # from the start: their time says nothing about that of the others

    by_folder: dict[Path, dict[str, Any]] = {}

    def tick(number: int) -> None:
        nonlocal done
        done += not finished[number]
        if progress is not None:
            progress(done, len(runs))

    def steps(reached: float, total: float, _: str = "") -> None:
        if progress is not None:
            progress(done + reached / max(1, total), len(runs))

    executor = current_executor()
    if executor.elsewhere:
        without_effect("jobs", jobs > 1, "the workers of the engine share the runs")
        away = [run for run, there in zip(runs, finished, strict=True) if not there]
        for run, result in perform_elsewhere(away, perform, executor):
            by_folder[run.folder] = result
            tick(runs.index(run))
        return [by_folder[run.folder] if run.folder in by_folder else perform(run, None) for run in runs]
    if jobs == 1:
        results = []
        for number, run in enumerate(runs):
            results.append(perform(run, steps))
            tick(number)
        return results
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        others = set(multiprocessing.active_children())
        with _no_interrupts():
            waiting = {pool.submit(perform, run, None): number for number, run in enumerate(runs)}
        by_number: dict[int, dict[str, Any]] = {}
        try:
            for future in as_completed(waiting):
                by_number[waiting[future]] = future.result()
                tick(waiting[future])
        except (HeadcountError, OSError):
            pool.shutdown(cancel_futures=True)
            raise
        except KeyboardInterrupt:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
            raise
    return [by_number[number] for number in range(len(runs))]


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C, which a terminal sends to all of them: their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
