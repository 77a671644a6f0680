"""How a computation runs: options that do not change its results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headcount.core.options import belongs_to, without_effect
from headcount.engines.executors import Shard, current_executor

SWEPT = {
    "memory": "only sweeps repeat a batch for as many variants as fit",
    "compiled": "only sweeps run unchanged layers",
}
"""Options that only a sweep reads, and why."""


@dataclass(frozen=True)
class Compute:
    """Options of a run that are rarely needed: the numbers are the same whatever they are.

    `batch_tokens`: tokens of a batch, in a sweep before it is repeated for the variants. `shard`: "2/4", the second of
    four parts of the work, into the same study. Of a sweep: `memory` for the passes, such as "4GB"; `compiled`:
    whether unchanged layers run through torch.compile; by default on a GPU, where a sweep is long enough for it to pay.
    """

    batch_tokens: int | None = None
    memory: str | int | None = None
    compiled: bool | None = None
    shard: str | None = None


def check_compute(compute: Compute | None, out: str | Path | None, swept: bool = False) -> tuple[Compute, Shard | None]:
    """What was given, or the defaults, and the part of the work that is asked for, where it is not all of it.

    An option that would have no effect is refused: what only sweeps read elsewhere, a shard without a study.

    >>> check_compute(Compute(shard="1/2"), None)
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got shard=, which has no effect without out=; give out= too, or leave it out
    """
    compute = compute or Compute()
    for option, why in () if swept else SWEPT.items():
        without_effect(option, getattr(compute, option), why)
    belongs_to("shard", compute.shard, "out", out)
    if current_executor().elsewhere:
        without_effect("shard", compute.shard, "the workers of the engine share all of the work")
    return compute, None if compute.shard is None else Shard.parse(compute.shard)
