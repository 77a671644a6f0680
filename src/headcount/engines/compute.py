"""How a computation runs: options that do not change its results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Compute:
    """Options of a run that are rarely needed: the numbers are the same whatever they are.

    `batch_tokens`: tokens of a batch before it is repeated for the variants. `memory`: for the passes, such as "4GB".
    `compiled`: unchanged layers run through torch.compile. `shard`: "2/4", the second of four parts of the work, into
    the same study.
    """

    batch_tokens: int | None = None
    memory: str | int | None = None
    compiled: bool = False
    shard: str | None = None
