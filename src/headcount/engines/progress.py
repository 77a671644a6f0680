"""Progress callbacks: one type of function for the whole package, and the tally that calls it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the work done, the total and, by a verb with several steps, the name of the step."""

    def __call__(self, done: float, total: float, step: str = ..., /) -> None: ...


def in_step(progress: Progress | None, name: str) -> Progress | None:
    """The progress of one step of a verb: the same function, called with the name of the step."""
    if progress is None:
        return None
    return lambda done, total, _="": progress(done, total, name)


class Tally:
    """Counts the work done, unit by unit and, if the work reports it, within units."""

    def __init__(self, progress: Progress | None, done: float, total: float) -> None:
        self.progress, self.total = progress, total
        self.saved = self.reached = float(done)
        self._report()

    def tick(self, share: float) -> None:
        """Count a part of a unit that is in progress."""
        self.reached += share
        self._report()

    def save(self, size: float) -> None:
        """Count a unit of this size as done, whether or not its parts were counted."""
        self.saved += size
        if self.saved > self.reached:
            self.reached = self.saved
            self._report()

    def _report(self) -> None:
        if self.progress is not None and self.total:
            self.progress(self.reached, self.total)
