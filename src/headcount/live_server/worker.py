"""One worker that uses the model: requests run step by step, one step at a time, and newer ones overtake older ones.

A request is an iterator. Each of its steps leaves the model as it was, so that between two steps of a long request
(a sweep, a continuation) the worker can run short ones, and no request ever sees the heads that another one replaced.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from headcount.errors import HeadcountError
from headcount.live_server.limits import LIMITS, Busy

Event = dict[str, Any]
Steps = Callable[[], Iterator[Event | None]]
"""Starts a request; what it yields is sent to the client, None only ends a step."""


class Overtaken(HeadcountError):
    """A newer request of the same client came before this one was finished."""


class Job:
    """A request on its way; `deliver` gets each event, then None at the end or the exception that ended it.

    It is called in the worker's thread.
    """

    def __init__(
        self, steps: Steps, client: str, quick: bool, deliver: Callable[[Event | BaseException | None], None]
    ) -> None:
        self.steps, self.client, self.quick, self.deliver = steps, client, quick, deliver
        self.running: Iterator[Event | None] | None = None
        self.cancelled = threading.Event()
        self.reason: BaseException | None = None

    def cancel(self, reason: BaseException | None = None) -> None:
        """Stop before the next step; nothing more is delivered but the reason."""
        self.reason = reason
        self.cancelled.set()


class Worker:
    """Runs jobs in a thread of its own; `broken` is called once with an error after which the device is of no use."""

    def __init__(self, waiting: int = LIMITS.waiting, broken: Callable[[BaseException], None] | None = None) -> None:
        self.most, self.broken = waiting, broken
        self.quick: deque[Job] = deque()
        self.long: deque[Job] = deque()
        self.current: Job | None = None
        self.changed = threading.Condition()
        self.stopping = False
        self.steps = 0
        self.thread = threading.Thread(target=self._work, name="headcount live", daemon=True)
        self.thread.start()

    def submit(
        self,
        steps: Steps,
        deliver: Callable[[Event | BaseException | None], None],
        client: str = "",
        quick: bool = True,
    ) -> Job:
        """Add a request; an older one of the same client that is not finished is cancelled.

        Quick ones are run before the next step of a long one.
        """
        job = Job(steps, client, quick, deliver)
        with self.changed:
            if self.stopping:
                raise Busy("the server is stopping")
            older = [*self.quick, *self.long, *([self.current] if self.current else [])]
            overtaken = [other for other in older if client and other.client == client]
            if len(older) - len(overtaken) >= self.most:
                raise Busy(f"{len(older)} requests are waiting; try again in a moment")
            for other in overtaken:
                other.cancel(Overtaken("a newer request came first"))
            (self.quick if quick else self.long).append(job)
            self.changed.notify()
        return job

    def stop(self, timeout: float = 5.0) -> None:
        """Cancel everything and end the thread after its current step."""
        with self.changed:
            self.stopping = True
            for job in [*self.quick, *self.long, *([self.current] if self.current else [])]:
                job.cancel(Busy("the server is stopping"))
            self.changed.notify()
        self.thread.join(timeout)

    def _work(self) -> None:
        while True:
            with self.changed:
                while not (self.quick or self.long or self.stopping):
                    self.changed.wait()
                if not (self.quick or self.long):
                    return
                job = self.current = (self.quick or self.long).popleft()
            again = self._step(job)
            with self.changed:
                self.current = None
                if again:  # behind the others of its kind: they take turns
                    (self.quick if job.quick else self.long).append(job)
            del job  # its tensors are let go while the worker waits

    def _step(self, job: Job) -> bool:
        """Run a step of a job; whether there are more."""
        if job.cancelled.is_set():
            self._end(job, job.reason)
            return False
        try:
            if job.running is None:
                job.running = job.steps()
            self.steps += 1
            event = next(job.running)
        except StopIteration:
            self._end(job, None)
            return False
        except Exception as error:  # noqa: BLE001 - whatever happens in one request, others go on
            self._end(job, error)
            if is_device_lost(error) and self.broken is not None:
                self.broken(error)
            return False
        if event is not None and not job.cancelled.is_set():
            job.deliver(event)
        return True

    def _end(self, job: Job, outcome: BaseException | None) -> None:
        running, job.running = job.running, None
        if running is not None:
            running.close()  # type: ignore[attr-defined]
        job.deliver(outcome)


def is_device_lost(error: BaseException) -> bool:
    """Whether a GPU failed in a way that no later pass survives."""
    if "out of memory" in str(error):
        return False
    return type(error).__name__ == "AcceleratorError" or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in ("CUDA error", "device-side assert"))
    )
