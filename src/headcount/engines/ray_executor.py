"""Units on the workers of a Ray cluster, which keep the model between runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headcount.core.staying import what_stays
from headcount.engines.cluster import connected
from headcount.engines.crew import Crew, plan_crew
from headcount.engines.executors import Done
from headcount.engines.parcel import pack
from headcount.engines.ray_dispatch import Dispatch, Key
from headcount.engines.ray_worker import Worker, versions
from headcount.engines.workers import as_batched
from headcount.errors import InvalidOption


@dataclass
class Hand:
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


class RayExecutor:
    """All units, on workers that keep their model; Ray is started, or found, with the first of them. To be closed."""

    elsewhere = True

    def __init__(
        self, address: str | None = None, workers: int | None = None, gpus_per_worker: float | None = None
    ) -> None:
        self.address, self.workers, self.gpus_per_worker = address, workers, gpus_per_worker
        self.until_closed = ExitStack()
        self.versions = versions()
        self.crew: Crew | None = None
        self.hands: list[Hand] = []
        self.sent: dict[str, Any] = {}
        """References to the weights in the object store, by their digests."""
        self.works = 0

    @cached_property
    def ray(self) -> Any:
        return self.until_closed.enter_context(connected(self.address, self.workers))

    def mine(self, numbers: Iterable[int]) -> list[int]:
        return list(numbers)

    def execute(self, units: list[Any], work: Callable[[Any], Any]) -> Generator[Done]:
        """The units as they are finished; `UnitsFailed` in the end if some could not be."""
        if not units:
            return
        for what in what_stays():
            raise InvalidOption(f"{what} is open, which workers elsewhere do not see; close it, or leave engine= out")
        batched = as_batched(work)
        parcel = pack(batched.work)
        self.works += 1
        self.sent = {digest: self.sent.get(digest) or self.ray.put(array) for digest, array in parcel.weights.items()}
        if self.crew is None:
            nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
            self.crew = plan_crew(nodes, self.workers, self.gpus_per_worker, parcel.size)
        dispatch = Dispatch(self, batched, units, parcel)
        try:
            yield from dispatch.results()
        finally:
            # Those whose answers are not wanted any more; one that is still unpacking is welcome next time.
            self.dismiss([hand for hand in self.hands if any(keys for _, keys in hand.calls)])

    def hire(self) -> Hand:
        """A new worker, which has not answered yet."""
        assert self.crew is not None
        # GPUs are what is scarce where there are any.
        cpus = 0 if self.crew.gpus else self.crew.threads
        limits = {"num_cpus": cpus, "num_gpus": self.crew.gpus, "max_restarts": 0}
        actor = self.ray.remote(**limits)(Worker).options(scheduling_strategy="SPREAD")
        made = actor.remote(self.crew.threads, bool(self.crew.gpus))
        hand = Hand(made, made.hello.remote())
        self.hands.append(hand)
        return hand

    def dismiss(self, hands: Sequence[Hand]) -> None:
        for hand in list(hands):
            self.ray.kill(hand.actor)
            self.hands.remove(hand)

    def close(self) -> None:
        if "ray" in self.__dict__:
            self.dismiss(self.hands)
        self.until_closed.close()
