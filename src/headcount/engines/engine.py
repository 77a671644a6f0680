"""Which engine runs the units of a verb: this process, or the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from headcount.core.options import without_effect
from headcount.engines.executors import executing
from headcount.errors import InvalidOption

P = ParamSpec("P")
R = TypeVar("R")
RAY = "ray"


@dataclass(frozen=True)
class Ray:
    """Runs the units of a verb that gets `engine=Ray(...)` on Ray workers, or of all inside `with Ray(...).running():`.

    `address`: a cluster, "auto" for the one that this machine belongs to; without it Ray is started on this machine.
    `workers`: their number; by default one for each GPU, or one for each core. `gpus_per_worker`: 0.5 puts two workers
    on a GPU, 4 gives a worker four.
    """

    address: str | None = None
    workers: int | None = None
    gpus_per_worker: float | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidOption(f"got workers={self.workers}; expected at least 1")
        gpus = self.gpus_per_worker
        if gpus is not None and (gpus < 0 or (gpus > 1 and gpus != int(gpus))):
            raise InvalidOption(f"got gpus_per_worker={gpus:g}; expected a whole number, or a share such as 0.5")

    @contextmanager
    def running(self) -> Iterator[None]:
        """The engine of every verb inside."""
        from headcount.engines.cluster import check_cluster

        check_cluster(self.address)  # before a model is loaded, and Ray with the first unit
        from headcount.engines.ray_executor import RayExecutor

        executor = RayExecutor(self.address, self.workers, self.gpus_per_worker)
        try:
            with executing(executor):
                yield
        finally:
            executor.close()


@contextmanager
def use_engine(engine: str | Ray | None) -> Iterator[None]:
    """Verbs inside run their units on this engine: None for this process, "ray", or a `Ray` with its options."""
    if engine is None:
        yield
        return
    if engine == RAY:
        engine = Ray()
    if not isinstance(engine, Ray):
        raise InvalidOption(f"got engine={engine!r}; expected 'ray', or hc.Ray(...) with its options")
    with engine.running():
        yield


def parse_engine(
    engine: str | None, address: str | None, workers: int | None, gpus_per_worker: float | None
) -> Ray | None:
    """The engine that options of the command line ask for."""
    if engine is None:
        for name, given in (("address", address), ("workers", workers), ("gpus_per_worker", gpus_per_worker)):
            without_effect(name, given, "without engine='ray' everything runs in this process")
        return None
    if engine != RAY:
        raise InvalidOption(f"got engine={engine!r}; expected 'ray'")
    return Ray(address, workers, gpus_per_worker)


def takes_engine(function: Callable[P, R]) -> Callable[P, R]:
    """A verb with the keyword `engine`, which says where its units run: it need not know more of it."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        engine: Any = kwargs.pop("engine", None)
        with use_engine(engine):
            return function(*args, **kwargs)

    return call
