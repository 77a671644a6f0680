"""How verbs show their progress: a bar on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import threading
from typing import Any

from headcount.cli.time_left import Pace, spell_rate

EVERY = 10.0
"""Seconds between two lines."""


class show_progress:  # noqa: N801
    """A context that returns a progress function: `progress(done, total)` or `progress(done, total, stage)`.

    `unit` is what is counted, `of` what precedes it in an estimate ("144 heads on "). `limited`: the verb has a --limit
    that was not given, so the estimate of a long run says what it would save.
    """

    def __init__(
        self, what: str, unit: str = "texts", *, of: str = "", limited: bool = False, every: float | None = None
    ) -> None:
        self.what, self.of, self.every = what, of, every or EVERY
        self.pace = Pace(unit, limited)
        self.over = threading.Event()

    def __enter__(self) -> show_progress:
        self.bar = _bar() if sys.stderr.isatty() else None
        if self.bar is not None:
            self.bar.__enter__()
            self.task = self.bar.add_task(self.what, total=None, rate="")
        else:
            self.thread = threading.Thread(target=self._report, daemon=True)
            self.thread.start()
        return self

    def __call__(self, done: float, total: float, stage: str | None = None) -> None:
        self.pace.reach(done, total, stage)
        estimate = self.pace.estimate(self.of)
        if estimate is not None:
            self._say(f"{self.what}: {estimate}")
        if self.bar is not None:
            rate = self.pace.rate()
            self.bar.update(
                self.task,
                completed=done,
                total=total,
                description=f"{self.what}: {stage}" if stage else self.what,
                rate="" if rate is None else spell_rate(rate),
            )

    def __exit__(self, *error: Any) -> None:
        if self.bar is not None:
            self.bar.__exit__(*error)
        else:
            self.over.set()
            self.thread.join()

    def _report(self) -> None:
        while not self.over.wait(self.every):
            self._say(f"{self.what}: {self.pace.line()}")

    def _say(self, line: str) -> None:
        if self.bar is not None:
            self.bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
    rest = (TextColumn("{task.fields[rate]}"), TextColumn("left"), TimeRemainingColumn())
    return Progress(TextColumn("{task.description}"), *columns, *rest, console=Console(stderr=True))
