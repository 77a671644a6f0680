"""How work tells that it goes on: one type of function for the whole package, and the count that calls it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the work that is done and all of it and, by a verb that has several steps, the name of the step."""

    def __call__(self, done: float, total: float, step: str = ..., /) -> None: ...


def in_step(progress: Progress | None, name: str) -> Progress | None:
    """The progress of one step of a verb: the same function, which is told the name of the step each time."""
    if progress is None:
        return None
    return lambda done, total, _="": progress(done, total, name)


class Tally:
    """Counts what is done, unit by unit and, where the work says so, inside of units."""

    def __init__(self, progress: Progress | None, done: float, total: float) -> None:
        self.progress, self.total = progress, total
        self.saved = self.reached = float(done)
        self._tell()

    def tick(self, share: float) -> None:
        """So much more is done of a unit that is being worked on."""
        self.reached += share
        self._tell()

    def save(self, size: float) -> None:
        """A unit of this size is done, whether or not the work has said so before."""
        self.saved += size
        if self.saved > self.reached:
            self.reached = self.saved
            self._tell()

    def _tell(self) -> None:
        if self.progress is not None and self.total:
            self.progress(self.reached, self.total)
