"""The one way to a result: runs are opened where they were left, worked on unit by unit, finished and read.

A verb says what it computes (`Run`) and how (`work`); what is done already, who does the rest, where it is kept and
where the numbers come from is known here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import xarray as xr

from headcount.core.results import named
from headcount.engines.executors import Executor, current_executor
from headcount.engines.progress import Progress, Tally
from headcount.engines.run import Arrays, Run, Unit
from headcount.engines.sinks import RAN_ON, Sink, open_sinks, with_places
from headcount.engines.workers import receiving

Work = Callable[[Unit], dict[str, Arrays]]
"""From a unit to its arrays, by group and by name."""


class Ledger:
    """Some runs that one pass over the examples feeds, in a study folder or, without one, in memory."""

    def __init__(
        self,
        runs: Sequence[Run],
        out: str | Path | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.executor = executor or current_executor()
        self.runs = [with_places(run) for run in runs] if self.executor.elsewhere else runs
        self.progress = progress
        self.sinks = open_sinks(self.runs, out)
        self.tally = Tally(None, 0, 0)

    @property
    def units(self) -> list[tuple[int, int]]:
        """Those of the first run, as they were laid out when it began."""
        return self.sinks[self.runs[0].group].units

    @property
    def complete(self) -> bool:
        """Whether all runs are done already, and will only be read."""
        return all(sink.complete for sink in self.sinks.values())

    def perform(self, work: Work = lambda unit: {}) -> list[xr.Dataset]:
        """The results, in the order of the runs; one whose other shards are not done yet holds what is there."""
        pending, done, total = self._plan()
        self.tally = Tally(self.progress, done, total)
        self._execute(pending, work)
        return [_finish(run, self.sinks[run.group]) for run in self.runs]

    def perform_rounds(self, ends: Sequence[int], work_of: Callable[[int, Callable[[], Arrays]], Work]) -> xr.Dataset:
        """The result of the only run, in rounds that end after so many units each, one after the other.

        `work_of` gives the work of a round; it may depend on the arrays that earlier rounds have saved, which the
        function that it gets reads, in the order of the examples' ids. What a resumed run has saved already is
        neither computed again nor asked for.
        """
        (run,) = self.runs
        pending, done, total = self._plan()
        self.tally = Tally(self.progress, done, total)
        for number, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
            units = [unit for unit in pending if start <= unit.number < end]
            if units:
                self._execute(units, work_of(number, lambda: _saved(run, self.sinks[run.group])))
        return _finish(run, self.sinks[run.group])

    def _execute(self, units: list[Unit], work: Work) -> None:
        with receiving(self.tally.tick), closing(self.executor.execute(units, work)) as results:
            for unit, arrays, place in results:
                for group in unit.groups:
                    self.sinks[group].save(unit.number, arrays[group], place)
                self.tally.save(unit.stop - unit.start)

    def _plan(self) -> tuple[list[Unit], int, int]:
        """The units that are still to be worked on here, and how many examples are done and in all."""
        by_units: dict[tuple[tuple[int, int], ...], list[str]] = {}
        for group, sink in self.sinks.items():
            by_units.setdefault(tuple(sink.units), []).append(group)
        flags = {group: sink.done() for group, sink in self.sinks.items()}
        pending, done, total = [], 0, 0
        for units, groups in by_units.items():
            for number in self.executor.mine(range(len(units))):
                start, stop = units[number]
                lacking = tuple(group for group in groups if not flags[group][number])
                total += stop - start
                if lacking:
                    pending.append(Unit(number, start, stop, lacking))
                else:
                    done += stop - start
        return pending, done, total


def announce(group: str, models: Mapping[str, str], out: str | Path) -> None:
    """Refuse a result before anything is computed if its models (fingerprints by name) are not the study's."""
    from headcount.core.store import Study

    Study(out).announce(group, {"models": models}, {})


def perform(run: Run, out: str | Path | None = None) -> xr.Dataset:
    """The result of a run without units: read where the study has it, computed otherwise."""
    return Ledger([run], out).perform()[0]


def _finish(run: Run, sink: Sink) -> xr.Dataset:
    if not sink.complete and all(sink.done()):
        sink.finish(run.finish(_saved(run, sink) if run.units else {}))
    return named(_by_example(sink.read()), run.group)


def _saved(run: Run, sink: Sink) -> Arrays:
    stored = _by_example(sink.read())
    return {name: stored[name].values for name in run.arrays if name != RAN_ON}


def _by_example(stored: xr.Dataset) -> xr.Dataset:
    return stored.sortby("example") if "example" in stored.coords else stored
