"""Who works on the units of a run: this process, or one of several that share them (a shard)."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from headcount.engines.run import Unit
from headcount.engines.workers import as_batched, each_unit
from headcount.errors import InvalidOption


class Done(NamedTuple):
    """A unit that is finished."""

    unit: Any
    result: Any
    place: str = ""
    """Where it was worked on; empty for this process."""


class Executor(Protocol):
    """Works on units. A unit is plain data, `work` a function of it; the results are saved by this process."""

    @property
    def elsewhere(self) -> bool:
        """Whether units are worked on by other processes, which a study then names."""
        ...

    def mine(self, numbers: Iterable[int]) -> list[int]:
        """Those of a run's units that are worked on here; the others are left to other processes."""
        ...

    def execute(self, units: list[Unit], work: Callable[[Unit], Any]) -> Generator[Done]:
        """The units, in any order, each with its result as soon as it is there; closing the generator ends the work."""
        ...


class ThisProcess:
    """All units, in order; those that consist of batches on several workers."""

    @property
    def elsewhere(self) -> bool:
        return False

    def mine(self, numbers: Iterable[int]) -> list[int]:
        return list(numbers)

    def execute(self, units: list[Unit], work: Callable[[Unit], Any]) -> Generator[Done]:
        for unit, result in each_unit(as_batched(work), units):
            yield Done(unit, result)


@dataclass(frozen=True)
class Shard(ThisProcess):
    """Part `number` (from 1) of `count`: for arrays of jobs and several machines that share a study folder.

    >>> Shard.parse("2/3").mine(range(7))
    [1, 4]
    """

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise InvalidOption(f"got the shard {text!r}; expected i/n with i from 1 to n, such as 1/4")
        return cls(int(match[1]), int(match[2]))

    def mine(self, numbers: Iterable[int]) -> list[int]:
        return [number for number in numbers if number % self.count == self.number - 1]


_current: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextmanager
def executing(executor: Executor) -> Iterator[None]:
    """Every verb inside has its units worked on by this executor, where it is not asked for a shard."""
    token = _current.set(executor)
    try:
        yield
    finally:
        _current.reset(token)


def current_executor() -> Executor:
    return _current.get() or ThisProcess()
