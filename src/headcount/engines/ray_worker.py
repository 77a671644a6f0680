"""What runs in a process of a Ray cluster: it keeps the work of a run, with the model inside, and works on batches."""

from __future__ import annotations

import os
import socket
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

from headcount.core.provenance import versions
from headcount.engines.parcel import Shelf
from headcount.engines.torch_modes import TorchModes
from headcount.engines.workers import receiving

PACKAGES = ("headcount", "torch", "transformers")
"""What must have the same version everywhere: the results of a study come from one program."""


def compared_versions() -> dict[str, str]:
    """Of this process; of Python without the last number."""
    known = versions()
    return {"python": known["python"].rpartition(".")[0], **{name: known[name] for name in PACKAGES}}


@dataclass
class Answer:
    """What a worker says of some batches."""

    results: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    ticks: float = 0.0
    warned: list[Any] = field(default_factory=list)
    """Warnings that were given meanwhile."""
    problem: BaseException | None = None
    """Of the batch after those with results."""
    out_of_memory: bool = False


class Worker:
    """An actor; `threads` within an operator."""

    def __init__(self, threads: int, on_gpu: bool) -> None:
        import torch

        torch.set_num_threads(threads)
        self.on_gpu = on_gpu and torch.cuda.is_available()
        self.shelf = Shelf("cuda" if self.on_gpu else "cpu")
        self.work: Any = None
        self.modes = TorchModes.here()

    def hello(self) -> tuple[dict[str, str], str]:
        """The versions of this process, and where it is."""
        gpu = f", GPU {os.environ.get('CUDA_VISIBLE_DEVICES', '0')}" if self.on_gpu else ""
        return compared_versions(), f"{socket.gethostname()}, process {os.getpid()}{gpu}"

    def take(self, code: bytes, digests: list[str], modes: TorchModes, sent: list[str], *weights: Any) -> None:
        """Keep the work of a run; `sent`: names the weights."""
        self.work = None  # the memory of the last one
        self.work = self.shelf.unpack(code, dict(zip(sent, weights, strict=True)), digests)
        self.modes = modes

    def run(self, batches: list[Any]) -> Answer:
        """Work on batches, one after the other; an error ends the list."""
        import torch

        answer, start = Answer(), time.monotonic()

        def count(share: float) -> None:
            answer.ticks += share

        with self.modes.applied(), receiving(count), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for batch in batches:
                try:
                    answer.results.append(self.work(batch))
                except (MemoryError, torch.OutOfMemoryError) as error:
                    answer.out_of_memory, answer.problem = True, MemoryError(str(error))
                    break
                except Exception as error:  # noqa: BLE001 - the caller raises it
                    answer.problem = error
                    break
        answer.warned = [(one.category, str(one.message)) for one in caught]
        answer.seconds = time.monotonic() - start
        if self.on_gpu and answer.out_of_memory:
            torch.cuda.empty_cache()
        return answer
