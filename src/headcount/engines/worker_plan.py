"""How many workers a cluster has room for, and what each of them gets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headcount.errors import HeadcountWarning, InvalidOption

COPIES = 3
"""A worker's weights, and what it computes with them, in times of the weights."""
PROCESS = 10**9
"""Bytes of a process with torch and transformers."""


@dataclass(frozen=True)
class WorkerPlan:
    """The workers of a run: their number, and the threads and GPUs of each."""

    count: int
    threads: int
    gpus: float


def plan_workers(
    nodes: Sequence[Mapping[str, float]], workers: int | None, gpus_per_worker: float | None, size: int
) -> WorkerPlan:
    """How many workers, and what each of them gets of its node; without a GPU, only as many as have room for `size`
    bytes each. `nodes`: their resources as Ray names them.

    >>> two = [{"CPU": 8, "GPU": 2, "memory": 64e9}, {"CPU": 4, "GPU": 2, "memory": 64e9}]
    >>> plan_workers(two, None, None, 10**9)
    WorkerPlan(count=4, threads=2, gpus=1)
    >>> plan_workers(two, None, 0.5, 10**9)
    WorkerPlan(count=8, threads=1, gpus=0.5)
    >>> plan_workers(two, 4, 0, 10**9)
    WorkerPlan(count=4, threads=2, gpus=0)
    """
    gpus = [node.get("GPU", 0) for node in nodes]
    share = gpus_per_worker if gpus_per_worker is not None else 1 if any(gpus) else 0
    if share > max(gpus, default=0):
        raise InvalidOption(
            f"got gpus_per_worker={share:g}; the largest machine of the cluster has {max(gpus, default=0):g} GPUs; "
            "ask for fewer, or leave it out"
        )
    if share:
        places = [int(one / share) for one in gpus]
        threads = min(int(node.get("CPU", 1) // place) for node, place in zip(nodes, places, strict=True) if place)
        return _told(WorkerPlan(workers or sum(places), max(1, threads), share), sum(places))
    cores = [int(node.get("CPU", 0)) for node in nodes]
    if workers is None:
        room = [
            int(node.get("memory", math.inf) // (COPIES * size + PROCESS)) if "memory" in node else core
            for node, core in zip(nodes, cores, strict=True)
        ]
        workers = max(1, sum(map(min, cores, room)))
    threads = next((n for n in range(max(cores, default=1), 1, -1) if sum(core // n for core in cores) >= workers), 1)
    return _told(WorkerPlan(workers, threads, 0), sum(core // threads for core in cores))


def _told(plan: WorkerPlan, room: int) -> WorkerPlan:
    """Say so where the cluster has no room for all of them: some start when others end, or when machines join it."""
    if plan.count > max(1, room):
        warnings.warn(
            f"the cluster has room for only {room} of the {plan.count} workers at present",
            HeadcountWarning,
            stacklevel=3,
        )
    return plan
