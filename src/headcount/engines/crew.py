"""How many workers a cluster has room for, and what each of them gets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headcount.errors import InvalidOption

COPIES = 3
"""A worker's weights, and what it computes with them, in times of the weights."""
PROCESS = 10**9
"""Bytes of a process with torch and transformers."""


@dataclass(frozen=True)
class Crew:
    """The workers of a run: their number, and the threads and GPUs of each."""

    count: int
    threads: int
    gpus: float


def plan_crew(resources: Mapping[str, float], workers: int | None, gpus_per_worker: float | None, size: int) -> Crew:
    """How many workers, and what each of them gets; without a GPU as many as have room for `size` bytes each.

    >>> plan_crew({"CPU": 8, "GPU": 2, "memory": 64e9}, None, None, 10**9)
    Crew(count=2, threads=4, gpus=1)
    >>> plan_crew({"CPU": 8, "GPU": 2, "memory": 64e9}, None, 0.5, 10**9)
    Crew(count=4, threads=2, gpus=0.5)
    >>> plan_crew({"CPU": 8, "memory": 64e9}, None, None, 10**9)
    Crew(count=8, threads=1, gpus=0)
    """
    cpus, gpus = int(resources.get("CPU", 1)), resources.get("GPU", 0)
    share = gpus_per_worker if gpus_per_worker is not None else 1 if gpus else 0
    if share > gpus:
        raise InvalidOption(
            f"got gpus_per_worker={share:g}; the cluster has {gpus:g} GPUs; ask for fewer, or leave it out"
        )
    if share:
        count = workers or int(gpus / share)
    else:
        room = int(resources.get("memory", math.inf) // (COPIES * size + PROCESS)) if "memory" in resources else cpus
        count = workers or max(1, min(cpus, room))
    return Crew(count, max(1, cpus // count), share)
