"""The worker: one step at a time, short requests first, newer ones overtake, and whatever fails, others go on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from headcount.live_server.limits import Busy
from headcount.live_server.worker import Event, Overtaken, Worker, is_device_lost


class Client:
    """Collects what is delivered."""

    def __init__(self) -> None:
        self.events: queue.Queue[Any] = queue.Queue()

    def __call__(self, event: Any) -> None:
        self.events.put(event)

    def all(self) -> list[Any]:
        """Everything up to the end, which is None or an exception."""
        found = []
        while True:
            event = self.events.get(timeout=60)
            found.append(event)
            if not isinstance(event, dict):
                return found


class Gate:
    """A request whose only step waits until it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self) -> Iterator[Event]:
        self.reached.set()
        self.open.wait(60)
        yield {"gate": True}


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(waiting=4)
    yield made
    made.stop()
    assert not made.thread.is_alive()


def steps(*names: str, log: list[str] | None = None) -> Any:
    def run() -> Iterator[Event]:
        for name in names:
            if log is not None:
                log.append(name)
            yield {"name": name}

    return run


def test_events_come_in_order(worker: Worker) -> None:
    client = Client()
    worker.submit(steps("a", "b"), client)
    assert client.all() == [{"name": "a"}, {"name": "b"}, None]


def test_short_requests_come_before_the_next_step_of_long_ones(worker: Worker) -> None:
    gate, log, clients = Gate(), [], [Client() for _ in range(4)]
    worker.submit(gate, clients[0])
    gate.reached.wait(60)
    worker.submit(steps("long 1", "long 2", log=log), clients[1], quick=False)
    worker.submit(steps("other 1", "other 2", log=log), clients[2], quick=False)
    worker.submit(steps("short", log=log), clients[3])
    gate.open.set()
    for client in clients:
        client.all()
    assert log == ["short", "long 1", "other 1", "long 2", "other 2"]


def test_a_newer_request_of_the_same_client_overtakes(worker: Worker) -> None:
    gate, log, clients = Gate(), [], [Client() for _ in range(4)]
    worker.submit(gate, clients[0], client="first")
    gate.reached.wait(60)
    worker.submit(steps("old", log=log), clients[1], client="tab")
    worker.submit(steps("else", log=log), clients[2], client="other")
    worker.submit(steps("new", log=log), clients[3], client="tab")
    gate.open.set()
    (end,) = clients[1].all()
    assert isinstance(end, Overtaken)
    assert clients[2].all()[-1] is clients[3].all()[-1] is None
    assert log == ["else", "new"], "what was overtaken never ran"


def test_a_request_that_runs_is_cancelled_before_its_next_step(worker: Worker) -> None:
    closed, client, gate = [], Client(), Gate()

    def long() -> Iterator[Event]:
        try:
            yield from gate()
            yield {"never": True}
        finally:
            closed.append(1)

    job = worker.submit(long, client)
    gate.reached.wait(60)
    job.cancel(Overtaken("away"))
    gate.open.set()
    (end,) = client.all()
    assert isinstance(end, Overtaken)
    assert closed == [1]


def test_too_many_are_refused(worker: Worker) -> None:
    gate, client = Gate(), Client()
    worker.submit(gate, client)
    gate.reached.wait(60)
    for _ in range(3):
        worker.submit(steps("a"), client)
    with pytest.raises(Busy, match="4 requests are waiting"):
        worker.submit(steps("a"), client)
    gate.open.set()


def test_an_error_ends_one_request(worker: Worker) -> None:
    def fails() -> Iterator[Event]:
        yield {"one": 1}
        raise ZeroDivisionError("no")

    client, other = Client(), Client()
    worker.submit(fails, client)
    worker.submit(steps("a"), other)
    assert isinstance(client.all()[-1], ZeroDivisionError)
    assert other.all() == [{"name": "a"}, None]


def test_a_lost_device_is_reported_once() -> None:
    lost: list[BaseException] = []
    worker = Worker(broken=lost.append)

    def fails() -> Iterator[Event]:
        raise RuntimeError("CUDA error: device-side assert triggered")
        yield {}

    client = Client()
    worker.submit(fails, client)
    client.all()
    worker.stop()
    assert len(lost) == 1
    assert not is_device_lost(torch.OutOfMemoryError("CUDA out of memory"))
    assert not is_device_lost(ValueError("CUDA error"))


def test_stopping_ends_what_waits() -> None:
    worker, gate, clients = Worker(), Gate(), [Client(), Client()]
    worker.submit(gate, clients[0])
    gate.reached.wait(60)
    worker.submit(steps("a"), clients[1])
    threading.Timer(0.05, gate.open.set).start()
    worker.stop()
    assert not worker.thread.is_alive()
    assert isinstance(clients[1].all()[-1], Busy)
    with pytest.raises(Busy, match="stopping"):
        worker.submit(steps("a"), clients[1])
