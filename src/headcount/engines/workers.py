"""Independent batches on several workers: threads of this process that run a batch each, on one core.

A small batch does not scale within an operator, and OpenMP's threads spin while they wait for each other: as soon as
anything else uses the machine, one batch on all cores is far slower than a batch on each. Results must not depend on
the number of workers, to the last bit: so a single batch uses one core, too, unless batches are so large that memory
allows only a few at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

NAME = "headcount-worker"
AHEAD = 2
"""Batches for each worker that are started ahead of the results, so that few results wait to be saved."""


@dataclass(frozen=True)
class Batched:
    """Work on a unit of independent batches; called with a unit, it runs them one after the other."""

    split: Callable[[Any], Sequence[Any]]
    """The batches of a unit."""
    work: Callable[[Any], Any]
    """The result of a batch, the same in any thread at any time; reports progress through `in_caller`."""
    join: Callable[[Any, list[Any]], Any]
    """The result of a unit from those of its batches, in order."""
    at_once: int = 1
    """How many batches may run at the same time, if there are enough cores; a single one has all cores."""

    def __call__(self, unit: Any) -> Any:
        return self.join(unit, [self.work(batch) for batch in self.split(unit)])


def as_batched(work: Callable[[Any], Any]) -> Batched:
    """Any work as one of batches: a unit is its only one."""
    return work if isinstance(work, Batched) else Batched(lambda unit: [unit], work, lambda _, parts: parts[0])


def each_unit(work: Batched, units: Sequence[Any]) -> Generator[tuple[Any, Any]]:
    """The units and their results, in order; batches of later units start while earlier units are finished."""
    batches = [work.split(unit) for unit in units]
    flat = [batch for several in batches for batch in several]
    with closing(spread(work.work, flat, work.at_once)) as results:
        for unit, several in zip(units, batches, strict=True):
            yield unit, work.join(unit, [next(results) for _ in several])


def count_cores() -> int:
    """The number of cores that this process may use, at most torch's number of threads (OMP_NUM_THREADS)."""
    import torch

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(int(torch.get_num_threads()), allowed))


def spread(work: Callable[[Any], Any], items: Sequence[Any], at_once: int) -> Generator[Any]:
    """The results of `work` for each item, in order, with at most `at_once` items at once; to be used inside `closing`.

    The first error, in the order of the items, is raised when all results before it have been taken. Whatever ends the
    iteration (an error, Ctrl-C, `close`) ends the workers: no thread is left.
    """
    cores = count_cores()
    threads = max(1, cores // at_once)
    workers = min(at_once, cores, len(items))
    if workers < 2 or _has_autocast():
        with _threads(threads if at_once > 1 else None):
            yield from map(work, items)
        return
    crew = _Crew(work, items, workers, threads)
    try:
        crew.start()
        for number in range(len(items)):
            yield crew.result(number)
    finally:
        crew.stop()


def in_caller(function: Callable[..., object], *args: Any) -> None:
    """Call a function in the thread that started the workers, as soon as that thread waits; elsewhere at once."""
    crew = _crew.get()
    if crew is None:
        function(*args)
        return
    if crew.stopped.is_set():
        raise _Stopped
    crew.events.put(lambda: function(*args))


def tick(share: float) -> None:
    """Called by the work on a unit, if it likes, in any thread: so many more examples of the unit are done."""
    receiver = _receiver.get()
    if receiver is not None:
        in_caller(receiver, share)


@contextmanager
def receiving(receiver: Callable[[float], object]) -> Iterator[None]:
    """What work counts inside goes to this function."""
    token = _receiver.set(receiver)
    try:
        yield
    finally:
        _receiver.reset(token)


class _Stopped(BaseException):
    """Ends the work of a worker whose results are no longer needed."""


class _Crew:
    """Threads that take the numbers of items from one queue and put calls for the caller into another."""

    def __init__(self, work: Callable[[Any], Any], items: Sequence[Any], workers: int, share: int) -> None:
        self.work, self.items, self.share = work, items, share
        self.todo: SimpleQueue[int | None] = SimpleQueue()
        self.events: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self.stopped, self.ready = threading.Event(), threading.Semaphore(0)
        self.assigned = 0
        self.done: dict[int, tuple[Any, BaseException | None]] = {}
        # A copy of the context for each, so that the caller's open sessions apply to the workers, too.
        self.threads = [
            threading.Thread(target=copy_context().run, args=(self._run,), name=NAME, daemon=True)
            for _ in range(workers)
        ]

    def start(self) -> None:
        import torch

        threads = torch.get_num_threads()
        for thread in self.threads:
            thread.start()
        for _ in self.threads:
            self.ready.acquire()
        # A worker's setting applies to itself, but would also be the default of every thread that starts later.
        torch.set_num_threads(threads)
        for _ in range(AHEAD * len(self.threads)):
            self._assign()

    def _assign(self) -> None:
        if self.assigned < len(self.items):
            self.todo.put(self.assigned)
            self.assigned += 1

    def _run(self) -> None:
        import torch

        _crew.set(self)
        torch.get_num_threads()  # initialises the thread's setting, which would otherwise replace the next line's later
        torch.set_num_threads(self.share)
        self.ready.release()
        while (number := self.todo.get()) is not None and not self.stopped.is_set():
            self._put(number)

    def _put(self, number: int) -> None:
        value, problem = None, None
        try:
            value = self.work(self.items[number])
        except BaseException as error:  # noqa: BLE001 - the caller raises it, in its turn
            problem = error
        self.events.put(lambda: self.done.update({number: (value, problem)}))

    def result(self, number: int) -> Any:
        """The result of an item; while waiting for it, calls that workers have asked for are made."""
        while number not in self.done:
            self.events.get()()
        value, problem = self.done.pop(number)
        if problem is not None:
            raise problem
        self._assign()
        return value

    def stop(self) -> None:
        self.stopped.set()
        for _ in self.threads:
            self.todo.put(None)
        for thread in self.threads:
            if thread.ident is not None:
                thread.join()


_crew: ContextVar[_Crew | None] = ContextVar("headcount_crew", default=None)
_receiver: ContextVar[Callable[[float], object] | None] = ContextVar("headcount_ticks", default=None)


def _has_autocast() -> bool:
    """Whether autocast is on, which applies to one thread only: workers would compute in another dtype."""
    import torch

    return bool(torch.is_autocast_enabled("cpu"))


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Set the number of threads within operators for a while; None leaves it as it is."""
    import torch

    before = torch.get_num_threads()
    if count in (None, before):
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
