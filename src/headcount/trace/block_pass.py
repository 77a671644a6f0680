"""One pass over the blocks of queries of a layer's map: all reductions that are wanted, from the weights of a block.

Each operation is called before the pass and returns a function that gives its result after it. What is linear in the
keys is one matrix product for all operations together: a block of weights is large, and reading it takes the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from headcount.trace.blocks import Block, blocks
from headcount.trace.call import AttentionCall
from headcount.trace.precision import wide, widened
from headcount.trace.scores import is_linear
from headcount.trace.view import ENTRIES, AttentionView, equal_labels

Result = Callable[[], Tensor]
Weighting = Callable[[Block], Tensor]
"""From a block to the weights [B or 1, q, k] of its entries."""


class Weights(NamedTuple):
    """The weights of a block, before they are divided by their sums."""

    block: Block
    view: AttentionView
    total: Tensor
    on_columns: Tensor
    """Sums over keys [B, H, q, C] that are the same for the heads of a group."""
    on_own: Tensor | None
    """Sums over keys [B, H, q, C] that each head has for itself."""
    on_entries: Tensor | None
    """Sums over keys [B, H, q, P] with weights for each query."""

    @property
    def rows(self) -> slice:
        return slice(self.block.start, self.block.stop)


class BlockPass:
    """What is wanted of a layer, and the pass that computes it."""

    def __init__(self, view: AttentionView, size: int) -> None:
        self.call, self.changes = view.call, view.changes
        self.blocks = list(blocks(view.call, size, every_key=bool(view.changes)))
        self.batch, self.heads, self.queries = len(view.call.value), len(view.call.block.heads), view.call.queries
        self.keys = int(view.call.value.shape[2])
        self.dtype, self.device = dtype_of(view.call), view.call.value.device
        ones = torch.ones(1, 1, self.keys, 1, dtype=self.dtype, device=self.device)
        self.columns: list[Tensor] = [ones.expand(self.batch, -1, -1, -1)]  # for the row sums
        self.own: list[Tensor] = []
        self.weightings: list[Weighting] = []
        self.offsets: list[int] = []
        self.received_by: list[Tensor] = []
        self.steps: list[Callable[[Weights], None]] = []

    def run(self) -> None:
        """Every block once."""
        if not self.steps:
            return
        groups = max(one.shape[1] for one in self.columns)
        shared = torch.cat([one.expand(-1, groups, -1, -1) for one in self.columns], -1)
        own = torch.cat(self.own, -1) if self.own else None
        for block in self.blocks:
            self._see(block, shared, own)

    def _see(self, block: Block, shared: Tensor, own: Tensor | None) -> None:
        view = AttentionView(block.of(self.call), None, self.changes)
        weights, keys = view.unnormalised, slice(block.first_key, block.last_key)
        on_columns = _times(weights, shared[..., keys, :])
        view.total = view.with_sink(on_columns[..., 0])
        on_own = None if own is None else _times(weights, own[..., keys, :])
        on_entries = None
        if self.weightings:
            by_entry = torch.stack([weighting(block).to(weights.dtype) for weighting in self.weightings], -1)
            on_entries = _times_each(weights, by_entry)
        seen = Weights(block, view, view.total, on_columns, on_own, on_entries)
        for step in self.steps:
            step(seen)

    # What is the same for all operations.

    def _by_query(self, compute: Callable[[Weights], Tensor], dtype: torch.dtype | None = None) -> Result:
        """What is computed for each query [B, H, Q]."""
        result = torch.empty(self.batch, self.heads, self.queries, dtype=dtype or self.dtype, device=self.device)

        def step(seen: Weights) -> None:
            result[:, :, seen.rows] = compute(seen)

        self.steps.append(step)
        return lambda: result

    def _column(self, columns: Tensor) -> Callable[[Weights], Tensor]:
        """The sums over keys with weights [B, K, C], and where to find them [B, H, q, C]."""
        start = sum(one.shape[-1] for one in self.columns)
        part = slice(start, start + columns.shape[-1])
        self.columns.append(columns.to(self.dtype)[:, None])

        return lambda seen: seen.on_columns[..., part]

    def _weighted(self, weighting: Weighting) -> Result:
        number = len(self.weightings)
        self.weightings.append(weighting)

        def compute(seen: Weights) -> Tensor:
            assert seen.on_entries is not None
            return seen.on_entries[..., number] / seen.total

        return self._by_query(compute)

    # The operations of a view.

    def total(self) -> Result:
        return self._by_query(lambda seen: seen.total)

    def largest(self) -> Result:
        return self._by_query(lambda seen: seen.view.largest)

    def column_of_largest(self) -> Result:
        return self._by_query(lambda seen: seen.view.column_of_largest + seen.block.first_key, torch.long)

    def mass(self, classes: Tensor) -> Result:
        find = self._column(classes)
        result = torch.empty(*self._shape, classes.shape[-1], dtype=self.dtype, device=self.device)

        def step(seen: Weights) -> None:
            result[:, :, seen.rows] = find(seen) / seen.total[..., None]

        self.steps.append(step)
        return lambda: result

    @property
    def _shape(self) -> tuple[int, int, int]:
        return self.batch, self.heads, self.queries

    def mass_on(self, chosen: Tensor) -> Result:
        if chosen.shape[1] == 1:
            find = self._column(chosen[:, 0, :, None])
            return self._by_query(lambda seen: find(seen)[..., 0] / seen.total)
        number = len(self.own)
        self.own.append(chosen[..., None].to(self.dtype))

        def compute(seen: Weights) -> Tensor:
            assert seen.on_own is not None
            return seen.on_own[..., number] / seen.total

        return self._by_query(compute)

    def mass_before(self, chosen: Tensor) -> Result:
        chosen = chosen.to(self.dtype)

        def weighting(block: Block) -> Tensor:
            query, key = self._positions(block)
            return chosen[:, None, block.first_key : block.last_key] * (key < query)

        return self._weighted(weighting)

    def mass_on_equal(self, query_labels: Tensor, key_labels: Tensor, anywhere: bool = False) -> Result:
        def weighting(block: Block) -> Tensor:
            query, key = self._positions(block)
            equal = equal_labels(query_labels[:, block.start : block.stop], key_labels[:, key])
            return equal if anywhere else equal & (key < query)

        return self._weighted(weighting)

    def distance(self) -> Result:
        def weighting(block: Block) -> Tensor:
            query, key = self._positions(block)
            return (key - query).abs()[None].expand(self.batch, -1, -1)

        return self._weighted(weighting)

    def _positions(self, block: Block) -> tuple[Tensor, Tensor]:
        query = torch.arange(block.start, block.stop, device=self.device)[:, None]
        return query, torch.arange(block.first_key, block.last_key, device=self.device)

    def picture(self, rows: Tensor, columns: Tensor) -> Result:
        find, rows = self._column(columns), rows.to(self.dtype).transpose(1, 2)[:, None]
        picture = torch.zeros(
            self.batch, self.heads, rows.shape[2], columns.shape[2], dtype=self.dtype, device=self.device
        )

        def step(seen: Weights) -> None:
            picture.add_(rows[..., seen.rows] @ (find(seen) / seen.total[..., None]))

        self.steps.append(step)
        return lambda: picture

    def received(self, queries: Tensor) -> Result:
        sums = torch.zeros(self.batch, self.heads, self.keys, dtype=self.dtype, device=self.device)

        def step(seen: Weights) -> None:
            sums[..., seen.block.first_key : seen.block.last_key] += seen.view.received(queries[:, seen.rows])

        self.steps.append(step)
        return lambda: sums

    def diagonal(self, offset: int) -> Result:
        if not self.offsets:
            self.steps.append(self._take_diagonals)
        number = len(self.offsets)
        self.offsets.append(offset)
        start, stop = max(0, -offset), max(0, -offset, min(self.queries, self.keys - offset))
        return lambda: self.diagonals[..., start:stop, number]

    @cached_property
    def diagonals(self) -> Tensor:
        """The weights [B, H, Q, offset] of the keys at all offsets that are wanted."""
        return torch.zeros(*self._shape, len(self.offsets), dtype=self.dtype, device=self.device)

    @cached_property
    def offsets_on_device(self) -> Tensor:
        return torch.tensor(self.offsets, device=self.device)

    def _take_diagonals(self, seen: Weights) -> None:
        block, width = seen.block, seen.block.last_key - seen.block.first_key
        query = torch.arange(block.start, block.stop, device=self.device)[:, None]
        place = query + self.offsets_on_device - block.first_key
        index = place.clamp(0, width - 1).expand(self.batch, self.heads, -1, -1)
        entries = seen.view.unnormalised.gather(-1, index) / seen.total[..., None]
        self.diagonals[:, :, seen.rows] = entries.masked_fill_((place < 0) | (place >= width), 0)

    def entries(self, example: Tensor, query: Tensor, key: Tensor) -> Result:
        result = torch.zeros(len(example), self.heads, dtype=self.dtype, device=self.device)
        order: Tensor | None = None
        if not bool((query[1:] >= query[:-1]).all()):
            order = query.argsort(stable=True)
            example, query, key = example[order], query[order], key[order]
        stops = torch.tensor([block.stop for block in self.blocks], device=query.device, dtype=query.dtype)
        borders: list[int] = [0, *torch.searchsorted(query, stops).tolist()]
        parts = {block: (borders[number], borders[number + 1]) for number, block in enumerate(self.blocks)}
        most = max(1, ENTRIES // self.heads)

        def step(seen: Weights) -> None:
            block, (first, last) = seen.block, parts[seen.block]
            for start in range(first, last, most):
                part = slice(start, min(start + most, last))
                column = key[part] - block.first_key
                width = block.last_key - block.first_key
                entries = seen.view.entries(example[part], query[part] - block.start, column.clamp(0, width - 1))
                reached = (column >= 0) & (column < width)
                result[part if order is None else order[part]] = torch.where(reached[:, None], entries, 0)

        self.steps.append(step)
        return lambda: result

    def row(self, query: int) -> Result:
        result = torch.zeros(self.batch, self.heads, self.keys, dtype=self.dtype, device=self.device)
        place = query % self.queries

        def step(seen: Weights) -> None:
            block = seen.block
            if block.start <= place < block.stop:
                result[..., block.first_key : block.last_key] = seen.view.row(place - block.start)

        self.steps.append(step)
        return lambda: result

    def entropy(self) -> Result:
        call = self.call
        if self.changes or not is_linear(call):
            return self._by_query(lambda seen: seen.view.entropy_of_weights())
        key = call.key
        assert key is not None
        if self.heads % key.shape[1]:
            key = call.by_head(key)
        start = sum(one.shape[-1] for one in self.columns)
        part = slice(start, start + key.shape[-1])
        self.columns.append(widened(key))
        return self._by_query(lambda seen: seen.view.entropy_from_means(seen.on_columns[..., part]))


def dtype_of(call: AttentionCall) -> torch.dtype:
    """Of a call's weights."""
    given = call.weights if call.weights is not None else call.query
    return wide(call.value.dtype if given is None else given.dtype)


def _times(weights: Tensor, columns: Tensor) -> Tensor:
    """Weights [B, H, q, k] times columns [B, G, k, C] that the heads of a group share: [B, H, q, C]."""
    batch, heads, queries, keys = weights.shape
    grouped = weights.reshape(batch, columns.shape[1], -1, keys) @ columns
    return grouped.view(batch, heads, queries, -1)


def _times_each(weights: Tensor, by_entry: Tensor) -> Tensor:
    """Weights [B, H, q, k] times weights of entries [B, q, k, P], the same for all heads: [B, H, q, P]."""
    sums = [one.transpose(0, 1) @ other for one, other in zip(weights, by_entry, strict=True)]
    return torch.stack(sums).transpose(1, 2)
