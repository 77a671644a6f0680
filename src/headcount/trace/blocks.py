"""How many queries of a layer are looked at together, so that no map of a long text is whole in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headcount.trace.call import AttentionCall
from headcount.trace.masks import reached_keys
from headcount.trace.precision import wide

CPU_BLOCK, GPU_BLOCK = 2**25, 2**29
"""The most that the weights of a block of queries may take, in bytes; whole maps that take no more are not divided."""
CPU_CACHED, CPU_QUERIES = 2**22, 16
"""On a CPU blocks are smaller, what its caches hold, as long as they have so many queries."""


@dataclass(frozen=True)
class Block:
    """A range of queries, and the keys that they may attend to."""

    start: int
    stop: int
    first_key: int
    last_key: int
    """One after the last."""

    def of(self, call: AttentionCall) -> AttentionCall:
        return call.of_queries(slice(self.start, self.stop), self.first_key, self.last_key)


def bytes_of_query(call: AttentionCall) -> int:
    """What the weights of one query of all examples and heads take."""
    itemsize = wide(call.value.dtype).itemsize
    return int(len(call.value) * len(call.block.heads) * call.value.shape[2] * itemsize)


def is_long(call: AttentionCall) -> bool:
    """Whether the map of a layer takes more than a block may."""
    limit = CPU_BLOCK if call.value.device.type == "cpu" else GPU_BLOCK
    return call.queries * bytes_of_query(call) > limit


def queries_of_block(call: AttentionCall) -> int:
    """How many queries fit into a block, at least one."""
    size = max(1, bytes_of_query(call))
    if call.value.device.type != "cpu":
        return max(1, GPU_BLOCK // size)
    return max(1, min(CPU_CACHED, CPU_BLOCK) // size, min(CPU_QUERIES, CPU_BLOCK // size))


def blocks(call: AttentionCall, size: int, every_key: bool = False) -> Iterator[Block]:
    """The queries of a call, `size` at a time, with the keys they may attend to, or with all.

    Where the kernel itself hides keys, a block of queries that see few of them has more queries, in the same memory.
    """
    keys = call.value.shape[2]
    start = 0
    while start < call.queries:
        count = size
        while call.mask is None and not every_key and start + count < call.queries:
            first, last = reached_keys(call, start, start + 2 * count)
            if 2 * count * (last - first) > size * keys:
                break
            count *= 2
        stop = min(start + count, call.queries)
        yield Block(start, stop, *((0, keys) if every_key else reached_keys(call, start, stop)))
        start = stop
