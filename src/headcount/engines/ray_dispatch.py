"""The batches of a run among the workers of a cluster: each is done once, whatever happens to a worker, or named."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter, deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headcount.engines.cluster import message_lines
from headcount.engines.executors import Done
from headcount.engines.parcel import Parcel
from headcount.engines.ray_worker import Answer
from headcount.engines.run import Unit
from headcount.engines.torch_modes import TorchModes
from headcount.engines.workers import Batched, tick
from headcount.errors import ClusterProblem, HeadcountWarning, UnitsFailed, listed

if TYPE_CHECKING:
    from headcount.engines.ray_executor import RayExecutor

TRIES = 3
"""How often a batch is tried that ends its worker, or that does not fit into its memory."""
AHEAD = 2
"""Calls that a worker has at once, so that it need not wait while results are saved."""
LONG = 5.0
"""Seconds of a batch from which on a worker has one at a time: another one may be free earlier."""
CALL = 0.25
"""Seconds of work that a call should take at least; sending it and its results takes less than a hundredth of that."""
WAIT = 30.0
"""Seconds without any worker after which this is said."""
Key = tuple[int, int]
"""The number of a unit in the list, and of a batch in the unit."""


@dataclass
class WorkerHandle:
    """A worker as the driver knows it."""

    actor: Any
    hello: Any
    place: str = ""
    """Where it is; empty until it has answered."""
    taken: int = 0
    """The number of the work that it has."""
    has: frozenset[str] = frozenset()
    calls: deque[tuple[Any, list[Key]]] = field(default_factory=deque)
    """What it was asked, in order, and the batches of each call."""


class Dispatch:
    """One work: which batches are waiting, with whom the others are, and what has come back."""

    def __init__(self, executor: RayExecutor, work: Batched, units: Sequence[Any], parcel: Parcel) -> None:
        self.executor, self.ray, self.work, self.units = executor, executor.ray, work, units
        self.batches = [list(work.split(unit)) for unit in units]
        self.waiting = deque(
            (unit, batch) for unit, several in enumerate(self.batches) for batch in range(len(several))
        )
        self.left = [len(several) for several in self.batches]
        self.parts: dict[int, dict[int, Any]] = {unit: {} for unit in range(len(units))}
        self.places: dict[int, set[str]] = {unit: set() for unit in range(len(units))}
        self.tries: Counter[Key] = Counter()
        self.avoid: dict[Key, WorkerHandle] = {}
        self.failed: dict[int, str] = {}
        self.code, self.digests = self.ray.put(parcel.code), list(parcel.weights)
        self.modes = TorchModes.here()
        self.seconds = 0.0  # of a batch, as measured last
        self.start_failures = 0
        self.idle_since: float | None = None

    def results(self) -> Generator[Done]:
        """Units in the order in which they are finished."""
        for number, several in enumerate(self.batches):
            if not several:
                yield Done(self.units[number], self.work.join(self.units[number], []), "")
        open_units = {number for number, several in enumerate(self.batches) if several}
        while open_units:
            self._fill()
            for number in self._listen():
                if number in open_units:
                    open_units.discard(number)
                    if number not in self.failed:
                        yield self._finish(number)
        if self.failed:
            raise UnitsFailed(self._said())

    def _finish(self, number: int) -> Done:
        parts = self.parts.pop(number)
        place = "; ".join(sorted(self.places.pop(number)))
        return Done(
            self.units[number], self.work.join(self.units[number], [parts[key] for key in sorted(parts)]), place
        )

    def _fill(self) -> None:
        """Enough workers, and enough calls for those that are there."""
        plan = self.executor.plan
        assert plan is not None
        wanted = min(plan.count, sum(map(len, self.batches)))
        while len(self.executor.handles) < wanted:
            self.executor.hire()
        for handle in self.executor.handles:
            if not handle.place:
                continue
            if handle.taken != self.executor.works:
                self._give(handle)
            while keys := self._next(handle):
                batches = [self.batches[unit][batch] for unit, batch in keys]
                handle.calls.append((handle.actor.run.remote(batches), keys))

    def _give(self, handle: WorkerHandle) -> None:
        """Send the work, and the weights that the worker does not have."""
        lacking = [digest for digest in self.digests if digest not in handle.has]
        weights = [self.executor.sent[digest] for digest in lacking]
        taken = handle.actor.take.remote(self.code, self.digests, self.modes, lacking, *weights)
        handle.calls.append((taken, []))
        handle.taken, handle.has = self.executor.works, frozenset(self.digests)

    def _next(self, handle: WorkerHandle) -> list[Key]:
        """The batches of the next call: so many that it is worth it, but few enough that all workers end together.

        What has failed before is tried alone: nothing else is to blame, or lost, if the worker ends again.
        """
        if any(not keys for _, keys in handle.calls):  # it has not got the work yet, and may end without it
            return []
        there = [keys for _, keys in handle.calls]
        ahead = AHEAD if 0 < self.seconds < LONG else 1
        if len(there) >= ahead or any(self.tries[key] for keys in there for key in keys):
            return []
        share = math.ceil(len(self.waiting) / (3 * len(self.executor.handles)))
        most = max(1, min(share, math.ceil(CALL / self.seconds) if self.seconds else 1))
        keys: list[Key] = []
        others = any(other.place and other is not handle for other in self.executor.handles)
        for _ in range(len(self.waiting)):
            key = self.waiting.popleft()
            if key[0] in self.failed:
                continue
            if others and self.avoid.get(key) is handle:
                self.waiting.append(key)
                continue
            if self.tries[key] and (keys or there):
                self.waiting.appendleft(key)
                break
            keys.append(key)
            if len(keys) >= most or self.tries[key]:
                break
        return keys

    def _listen(self) -> list[int]:
        """Wait for the next answers; the numbers of the units that have ended."""
        owing = [handle for handle in self.executor.handles if handle.calls or not handle.place]
        by_ref = {handle.calls[0][0] if handle.calls else handle.hello: handle for handle in owing}
        refs = list(by_ref)
        self.ray.wait(refs, num_returns=1, timeout=1.0)
        ready, _ = self.ray.wait(refs, num_returns=len(refs), timeout=0)
        ended: list[int] = []
        for ref in ready:
            ended += self._hear(by_ref[ref])
        self._complain()
        return ended

    def _hear(self, handle: WorkerHandle) -> list[int]:
        """What a worker says, or that it is gone."""
        errors = self.ray.exceptions
        ref, keys = handle.calls.popleft() if handle.place else (handle.hello, [])
        try:
            said = self.ray.get(ref)
        except errors.RayTaskError as error:
            raise _as_cause(error) from error
        except errors.RayError as error:
            return self._lost(handle, keys, error)
        if not handle.place:
            self._welcome(handle, *said)
            return []
        return self._collect(handle, keys, said) if keys else []

    def _welcome(self, handle: WorkerHandle, theirs: dict[str, str], place: str) -> None:
        ours = self.executor.versions
        differ = [name for name in ours if theirs.get(name) != ours[name]]
        if differ:
            said = ", ".join(f"{name} {theirs.get(name)} there, {ours[name]} here" for name in differ)
            raise ClusterProblem(
                f"a worker ({place}) has different versions ({said}); install the same versions on all machines"
            )
        handle.place = place

    def _collect(self, handle: WorkerHandle, keys: list[Key], answer: Answer) -> list[int]:
        for category, message in answer.warned:
            warnings.warn(message, category, stacklevel=2)
        self.start_failures = 0
        tick(answer.ticks)
        if answer.results:
            self.seconds = answer.seconds / len(answer.results)
        ended = []
        for (unit, batch), result in zip(keys, answer.results, strict=False):
            if unit in self.failed:
                continue
            self.parts[unit][batch] = result
            self.places[unit].add(handle.place)
            self.left[unit] -= 1
            if not self.left[unit]:
                ended.append(unit)
        rest = keys[len(answer.results) :]
        if answer.out_of_memory:
            self.avoid[rest[0]] = handle
            self.waiting.extendleft(reversed(rest[1:]))
            ended += self._again(rest[:1], f"out of memory: {answer.problem}")
        elif answer.problem is not None:
            raise answer.problem
        return ended

    def _lost(self, handle: WorkerHandle, keys: list[Key], error: BaseException) -> list[int]:
        """A worker or its node is gone: any of the batches that it had may have ended it."""
        suspected = [*keys, *(key for _, more in handle.calls for key in more)]
        if not keys:  # it has not begun, or did not get the work
            self.start_failures += 1
            if self.start_failures >= max(TRIES, len(self.executor.handles)):
                raise ClusterProblem(
                    f"no worker could be started: {message_lines(error)[-1]}"
                ) from error  # what its process raised
            self.waiting.extendleft(reversed(suspected))
            suspected = []
        else:
            warnings.warn(
                f"a worker ({handle.place}) died; its work runs on another worker",
                HeadcountWarning,
                stacklevel=2,
            )
        handle.calls.clear()
        self.executor.dismiss([handle])
        return self._again(suspected, f"its worker died ({message_lines(error)[0]})")

    def _again(self, keys: list[Key], reason: str) -> list[int]:
        """Put batches back, of which one is to blame: each is tried alone from now on, and given up in the end."""
        self.tries.update(keys)
        self.waiting.extendleft(key for key in reversed(keys) if self.tries[key] < TRIES)
        failed = {unit: reason for unit, batch in keys if self.tries[unit, batch] >= TRIES}
        self.failed |= failed
        return list(failed)

    def _complain(self) -> None:
        """Say so where there has been no worker for a while."""
        if any(handle.place for handle in self.executor.handles):
            self.idle_since = None
            return
        now = time.monotonic()
        self.idle_since = self.idle_since or now
        if now - self.idle_since > WAIT:
            self.idle_since = math.inf  # once
            plan = self.executor.plan
            assert plan is not None
            kind, needed = ("GPU", plan.gpus) if plan.gpus else ("CPU", plan.threads)
            free = self.ray.available_resources().get(kind, 0)
            warnings.warn(
                f"no worker has started yet: each needs {needed:g} {kind}, and {free:g} are free in the whole cluster",
                HeadcountWarning,
                stacklevel=2,
            )

    def _said(self) -> str:
        names = listed([spell_unit(self.units[number]) for number in self.failed], most=3)
        reason = next(iter(self.failed.values()))
        return (
            f"{len(self.failed)} of {len(self.units)} parts failed {TRIES} times: {names}; {reason}; "
            "the others are done: run the same command again to try these"
        )


def spell_unit(unit: Any) -> str:
    """How a unit is named in messages.

    >>> spell_unit(Unit(2, 64, 96, ("sweep/head-zero",)))
    'sweep/head-zero, examples 65 to 96'
    """
    if isinstance(unit, Unit):
        return f"{'+'.join(unit.groups)}, examples {unit.start + 1} to {unit.stop}"
    return str(unit)


def _as_cause(error: Any) -> BaseException:
    """What a worker raised, where it could not answer."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, ModuleNotFoundError):
        return ClusterProblem(f"a worker cannot import {cause.name!r}; install the same packages everywhere")
    return cause if isinstance(cause, BaseException) else error
