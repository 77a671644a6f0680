"""Units on the workers of a Ray cluster, which keep the model between runs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any

from headcount.core.local_contexts import open_local_contexts
from headcount.engines.cluster import connected
from headcount.engines.executors import Done
from headcount.engines.parcel import pack
from headcount.engines.ray_dispatch import Dispatch, WorkerHandle
from headcount.engines.ray_worker import Worker, compared_versions
from headcount.engines.worker_plan import WorkerPlan, plan_workers
from headcount.engines.workers import as_batched
from headcount.errors import InvalidOption


class RayExecutor:
    """All units, on workers that keep their model; Ray is started, or found, with the first of them. To be closed."""

    elsewhere = True

    def __init__(
        self, address: str | None = None, workers: int | None = None, gpus_per_worker: float | None = None
    ) -> None:
        self.address, self.workers, self.gpus_per_worker = address, workers, gpus_per_worker
        self.until_closed = ExitStack()
        self.versions = compared_versions()
        self.plan: WorkerPlan | None = None
        self.handles: list[WorkerHandle] = []
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
        for what in open_local_contexts():
            raise InvalidOption(f"{what} is open, which workers elsewhere do not see; close it, or leave engine= out")
        batched = as_batched(work)
        parcel = pack(batched.work)
        self.works += 1
        self.sent = {digest: self.sent.get(digest) or self.ray.put(array) for digest, array in parcel.weights.items()}
        if self.plan is None:
            nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
            self.plan = plan_workers(nodes, self.workers, self.gpus_per_worker, parcel.size)
        dispatch = Dispatch(self, batched, units, parcel)
        try:
            yield from dispatch.results()
        finally:
            # Those whose answers are not wanted any more; one that is still unpacking is welcome next time.
            self.dismiss([handle for handle in self.handles if any(keys for _, keys in handle.calls)])

    def hire(self) -> WorkerHandle:
        """A new worker, which has not answered yet."""
        assert self.plan is not None
        # GPUs are what is scarce where there are any.
        cpus = 0 if self.plan.gpus else self.plan.threads
        limits = {"num_cpus": cpus, "num_gpus": self.plan.gpus, "max_restarts": 0}
        actor = self.ray.remote(**limits)(Worker).options(scheduling_strategy="SPREAD")
        made = actor.remote(self.plan.threads, bool(self.plan.gpus))
        handle = WorkerHandle(made, made.hello.remote())
        self.handles.append(handle)
        return handle

    def dismiss(self, handles: Sequence[WorkerHandle]) -> None:
        for handle in list(handles):
            self.ray.kill(handle.actor)
            self.handles.remove(handle)

    def close(self) -> None:
        if "ray" in self.__dict__:
            self.dismiss(self.handles)
        self.until_closed.close()
