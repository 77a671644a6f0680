"""Triton kernels that reduce the rows or columns of an attention map without ever writing it: one pass over the keys.

Scores are products in half precision, summed in float32 as the model's own kernel does. Each weight is reduced in
float32, except in sums over columns, which are matrix products in float16: weights are at most 1 and are multiplied by
2^14 first, so that all above 4e-9 keep 11 bits and those above 2e-12 are not lost; columns are scaled to at most 1.
Sums over columns that each head has for itself take two products, of 22 bits: parts of them are subtracted later.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from headcount.trace.call import AttentionCall

try:  # it comes with torch for NVIDIA GPUs
    import triton
    import triton.language as tl
except ImportError:
    triton = None

INSTALLED = triton is not None
QUERIES, KEYS, WARPS, STAGES = 128, 64, 8, 3
"""Queries and keys of a tile, and how its loop is run."""
LARGEST_HEAD = 128
SHARED, OWN, EQUAL = 128, 32, 2
"""Columns, columns of a head and pairs of labels that one launch takes at most."""
NOWHERE, BEFORE, ANYWHERE = 0, 1, 2
"""Which keys with an equal label count."""

if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _see_keys(  # type: ignore[no-untyped-def]
        first,
        stop,
        query,
        rows,
        labels_a,
        labels_b,
        keys,
        key_stride,
        key_count,
        shared,
        own,
        chosen,
        key_labels_a,
        key_labels_b,
        most,
        column,
        total,
        scored,
        distance,
        before,
        equal_a,
        equal_b,
        on_shared,
        on_own,
        scale,
        edge: tl.constexpr,
        causal: tl.constexpr,
        size: tl.constexpr,
        padded: tl.constexpr,
        block: tl.constexpr,
        numbers: tl.constexpr,
        shared_width: tl.constexpr,
        own_width: tl.constexpr,
        has_chosen: tl.constexpr,
        a_counts: tl.constexpr,
        b_counts: tl.constexpr,
    ):
        """Take in the keys from `first` to `stop`. At an `edge` some are hidden; elsewhere, causal, all are before."""
        inner = tl.arange(0, padded)
        place = tl.arange(0, block)
        for start in range(first, stop, block):
            at = start + place
            there = at < key_count
            tile = keys + tl.cast(start, tl.int64) * key_stride + place[:, None] * key_stride + inner[None, :]
            if edge:
                key = tl.load(tile, mask=there[:, None] & (inner[None, :] < size), other=0.0)
            elif padded > size:
                key = tl.load(tile, mask=inner[None, :] < size, other=0.0)
            else:
                key = tl.load(tile)
            score = tl.dot(query, tl.trans(key)) * scale  # for powers of 2
            if edge:
                seen = there[None, :]
                if causal:
                    seen = seen & (at[None, :] <= rows[:, None])
                score = tl.where(seen, score, -1.0e30)
            highest = tl.max(score, 1)
            if numbers:
                hit = tl.min(tl.where(score == highest[:, None], at[None, :], 2147483647), 1)
                column = tl.where(highest > most, hit, column)
            above = tl.maximum(most, highest)
            kept = tl.exp2(most - above)
            shifted = score - above[:, None]
            weight = tl.exp2(shifted)
            if edge:
                # A row without any key yet would have weights of 1.
                weight = tl.where(seen, weight, 0.0)
            here = tl.sum(weight, 1)
            if numbers:
                scored = kept * (scored + (most - above) * total) + tl.sum(weight * shifted, 1)
                if causal:
                    near = tl.sum(weight * place.to(tl.float32)[None, :], 1)
                    distance = distance * kept + (rows - start).to(tl.float32) * here - near
                else:
                    far = tl.abs(rows.to(tl.float32)[:, None] - at.to(tl.float32)[None, :])
                    distance = distance * kept + tl.sum(weight * far, 1)
            total = total * kept + here
            if edge or not causal:
                earlier = at[None, :] < rows[:, None]
            if has_chosen:
                wanted = tl.load(chosen + at, mask=there, other=0.0)
                part = weight * wanted[None, :]
                if edge or not causal:
                    part = tl.where(earlier, part, 0.0)
                before = before * kept + tl.sum(part, 1)
            if a_counts > 0:
                label = tl.load(key_labels_a + at, mask=there, other=-1)
                part = tl.where(labels_a[:, None] == label[None, :], weight, 0.0)
                if a_counts == 1 and (edge or not causal):
                    part = tl.where(earlier, part, 0.0)
                equal_a = equal_a * kept + tl.sum(part, 1)
            if b_counts > 0:
                label = tl.load(key_labels_b + at, mask=there, other=-1)
                part = tl.where(labels_b[:, None] == label[None, :], weight, 0.0)
                if b_counts == 1 and (edge or not causal):
                    part = tl.where(earlier, part, 0.0)
                equal_b = equal_b * kept + tl.sum(part, 1)
            if shared_width > 0 or own_width > 0:
                half = (weight * 16384.0).to(tl.float16)
            if shared_width > 0:
                wide = tl.arange(0, shared_width)
                tile = shared + tl.cast(start, tl.int64) * shared_width + place[:, None] * shared_width + wide[None, :]
                if edge:
                    columns = tl.load(tile, mask=there[:, None], other=0.0)
                else:
                    columns = tl.load(tile)
                on_shared = tl.dot(half, columns, on_shared * kept[:, None])
            if own_width > 0:
                wide = tl.arange(0, own_width)
                tile = own + tl.cast(start, tl.int64) * own_width + place[:, None] * own_width + wide[None, :]
                if edge:
                    columns = tl.load(tile, mask=there[:, None], other=0.0)
                else:
                    columns = tl.load(tile)
                low = (weight * 16384.0 - half.to(tl.float32)).to(tl.float16)
                on_own = tl.dot(half, columns, on_own * kept[:, None])
                on_own = tl.dot(low, columns, on_own)
            most = above
        return most, column, total, scored, distance, before, equal_a, equal_b, on_shared, on_own

    @triton.jit  # type: ignore[untyped-decorator]
    def _rows_kernel(  # type: ignore[no-untyped-def]
        query,
        key,
        shared,
        own,
        chosen,
        query_labels_a,
        key_labels_a,
        query_labels_b,
        key_labels_b,
        found,
        columns_found,
        shared_found,
        own_found,
        query_batch,
        query_head,
        query_row,
        key_batch,
        key_head,
        key_row,
        heads,
        groups,
        queries,
        keys,
        rows_of_all,
        scale,
        causal: tl.constexpr,
        size: tl.constexpr,
        padded: tl.constexpr,
        tall: tl.constexpr,
        block: tl.constexpr,
        numbers: tl.constexpr,
        shared_width: tl.constexpr,
        own_width: tl.constexpr,
        has_chosen: tl.constexpr,
        a_counts: tl.constexpr,
        b_counts: tl.constexpr,
    ):
        # The last queries see the most keys, and begin first.
        tile_row = tl.num_programs(0) - 1 - tl.program_id(0)
        pair = tl.program_id(1).to(tl.int64)
        batch, head = pair // heads, pair % heads
        group = head * groups // heads
        first_row = tile_row * tall
        rows = first_row + tl.arange(0, tall)
        inner = tl.arange(0, padded)
        inside = rows < queries
        rows_long = rows.to(tl.int64)
        query_tile = query + batch * query_batch + head * query_head + rows_long[:, None] * query_row + inner[None, :]
        asked = tl.load(query_tile, mask=inside[:, None] & (inner[None, :] < size), other=0.0)
        labels_a = rows
        labels_b = rows
        if a_counts > 0:
            labels_a = tl.load(query_labels_a + batch * queries + rows, mask=inside, other=-2)
        if b_counts > 0:
            labels_b = tl.load(query_labels_b + batch * queries + rows, mask=inside, other=-2)
        most = tl.full([tall], -1.0e30, tl.float32)
        column = tl.zeros([tall], tl.int32)
        total = tl.zeros([tall], tl.float32)
        scored = tl.zeros([tall], tl.float32)
        distance = tl.zeros([tall], tl.float32)
        before = tl.zeros([tall], tl.float32)
        equal_a = tl.zeros([tall], tl.float32)
        equal_b = tl.zeros([tall], tl.float32)
        on_shared = tl.zeros([tall, shared_width if shared_width > 0 else 16], tl.float32)
        on_own = tl.zeros([tall, own_width if own_width > 0 else 16], tl.float32)
        keys_here = key + batch * key_batch + group * key_head
        shared_here = shared + batch * keys * shared_width
        own_here = own + pair * keys * own_width
        if causal:
            middle = tl.minimum(first_row, keys) // block * block
            stop = tl.minimum(first_row + tall, keys)
        else:
            middle = keys // block * block
            stop = keys
        most, column, total, scored, distance, before, equal_a, equal_b, on_shared, on_own = _see_keys(
            0,
            middle,
            asked,
            rows,
            labels_a,
            labels_b,
            keys_here,
            key_row,
            keys,
            shared_here,
            own_here,
            chosen + batch * keys,
            key_labels_a + batch * keys,
            key_labels_b + batch * keys,
            most,
            column,
            total,
            scored,
            distance,
            before,
            equal_a,
            equal_b,
            on_shared,
            on_own,
            scale,
            False,
            causal,
            size,
            padded,
            block,
            numbers,
            shared_width,
            own_width,
            has_chosen,
            a_counts,
            b_counts,
        )
        most, column, total, scored, distance, before, equal_a, equal_b, on_shared, on_own = _see_keys(
            middle,
            stop,
            asked,
            rows,
            labels_a,
            labels_b,
            keys_here,
            key_row,
            keys,
            shared_here,
            own_here,
            chosen + batch * keys,
            key_labels_a + batch * keys,
            key_labels_b + batch * keys,
            most,
            column,
            total,
            scored,
            distance,
            before,
            equal_a,
            equal_b,
            on_shared,
            on_own,
            scale,
            True,
            causal,
            size,
            padded,
            block,
            numbers,
            shared_width,
            own_width,
            has_chosen,
            a_counts,
            b_counts,
        )
        out = found + pair * queries + rows
        if numbers:
            tl.store(out, most, mask=inside)
            tl.store(out + rows_of_all, total, mask=inside)
            # In units of log 2 until here: H = log z - sum(p (s - largest)) / z.
            entropy = (tl.log2(total) - scored / total) * 0.6931471805599453
            tl.store(out + 2 * rows_of_all, tl.maximum(entropy, 0.0), mask=inside)
            tl.store(out + 3 * rows_of_all, distance / total, mask=inside)
            # Where scores are not finite none is the largest.
            tl.store(columns_found + pair * queries + rows, tl.minimum(column, keys - 1), mask=inside)
        if has_chosen:
            tl.store(out + 4 * rows_of_all, before / total, mask=inside)
        if a_counts > 0:
            tl.store(out + 5 * rows_of_all, equal_a / total, mask=inside)
        if b_counts > 0:
            tl.store(out + 6 * rows_of_all, equal_b / total, mask=inside)
        share = 1.0 / (total * 16384.0)
        places = pair * queries + rows_long
        if shared_width > 0:
            wide = tl.arange(0, shared_width)
            tile = shared_found + places[:, None] * shared_width + wide[None, :]
            tl.store(tile, on_shared * share[:, None], mask=inside[:, None])
        if own_width > 0:
            wide = tl.arange(0, own_width)
            tile = own_found + places[:, None] * own_width + wide[None, :]
            tl.store(tile, on_own * share[:, None], mask=inside[:, None])

    @triton.jit  # type: ignore[untyped-decorator]
    def _columns_kernel(  # type: ignore[no-untyped-def]
        query,
        key,
        most,
        shares,
        found,
        query_batch,
        query_head,
        query_row,
        key_batch,
        key_head,
        key_row,
        heads,
        groups,
        queries,
        keys,
        scale,
        causal: tl.constexpr,
        size: tl.constexpr,
        padded: tl.constexpr,
        tall: tl.constexpr,
        block: tl.constexpr,
    ):
        """What `tall` keys receive, from `block` queries at a time."""
        first_key = tl.program_id(0) * tall
        pair = tl.program_id(1).to(tl.int64)
        batch, head = pair // heads, pair % heads
        group = head * groups // heads
        at = first_key + tl.arange(0, tall)
        inner = tl.arange(0, padded)
        place = tl.arange(0, block)
        key_tile = key + batch * key_batch + group * key_head + at.to(tl.int64)[:, None] * key_row + inner[None, :]
        read = tl.load(key_tile, mask=(at < keys)[:, None] & (inner[None, :] < size), other=0.0)
        query_here = query + batch * query_batch + head * query_head
        received = tl.zeros([tall], tl.float32)
        first = 0
        if causal:
            first = first_key // block * block
        for start in range(first, queries, block):
            rows = start + place
            inside = rows < queries
            tile = query_here + tl.cast(start, tl.int64) * query_row + place[:, None] * query_row + inner[None, :]
            asked = tl.load(tile, mask=inside[:, None] & (inner[None, :] < size), other=0.0)
            highest = tl.load(most + pair * queries + rows, mask=inside, other=0.0)
            share = tl.load(shares + pair * queries + rows, mask=inside, other=0.0)
            # Of no more than 1, where rounding differs from that of the other kernel.
            shifted = tl.minimum(tl.dot(read, tl.trans(asked)) * scale - highest[None, :], 0.0)
            weight = tl.exp2(shifted) * share[None, :]
            if causal:
                weight = tl.where(at[:, None] <= rows[None, :], weight, 0.0)
            received += tl.sum(weight, 1)
        tl.store(found + pair * keys + at, received, mask=at < keys)

    @triton.jit  # type: ignore[untyped-decorator]
    def _diagonals_kernel(  # type: ignore[no-untyped-def]
        query,
        key,
        most,
        total,
        offsets,
        found,
        query_batch,
        query_head,
        query_row,
        key_batch,
        key_head,
        key_row,
        heads,
        groups,
        queries,
        keys,
        rows_of_all,
        offset_count,
        scale,
        causal: tl.constexpr,
        size: tl.constexpr,
        padded: tl.constexpr,
        tall: tl.constexpr,
    ):
        pair = tl.program_id(1).to(tl.int64)
        batch, head = pair // heads, pair % heads
        group = head * groups // heads
        rows = tl.program_id(0) * tall + tl.arange(0, tall)
        inner = tl.arange(0, padded)
        inside = rows < queries
        fits = inner[None, :] < size
        query_tile = query + batch * query_batch + head * query_head + rows.to(tl.int64)[:, None] * query_row
        asked = tl.load(query_tile + inner[None, :], mask=inside[:, None] & fits, other=0.0).to(tl.float32)
        highest = tl.load(most + pair * queries + rows, mask=inside, other=0.0)
        sums = tl.load(total + pair * queries + rows, mask=inside, other=1.0)
        for number in range(0, offset_count):
            offset = tl.load(offsets + number)
            at = rows + offset
            seen = inside & (at >= 0) & (at < keys)
            if causal:
                seen = seen & (at <= rows)
            key_tile = key + batch * key_batch + group * key_head + at.to(tl.int64)[:, None] * key_row
            read = tl.load(key_tile + inner[None, :], mask=seen[:, None] & fits, other=0.0).to(tl.float32)
            shifted = tl.minimum(tl.sum(asked * read, 1) * scale - highest, 0.0)
            weight = tl.where(seen, tl.exp2(shifted) / sums, 0.0)
            tl.store(found + number * rows_of_all + pair * queries + rows, weight, mask=inside)


@dataclass(frozen=True)
class Rows:
    """What one launch gives for each query; what was not asked for is not filled in."""

    numbers: Tensor
    """[7, B, H, Q]: the largest score in units of log 2, the row sum, entropy, distance, and three shares."""
    column: Tensor
    """The key of the largest score [B, H, Q], int32."""
    shared: Tensor
    """[B, H, Q, columns]."""
    own: Tensor


@dataclass(frozen=True)
class Labels:
    """Labels of queries [B, Q] and keys [B, K], int32, negative where equal to nothing; which keys count."""

    queries: Tensor
    keys: Tensor
    where: int


class Kernels:
    """The kernels for one call: query, keys, and how their tiles lie."""

    def __init__(self, call: AttentionCall, causal: bool) -> None:
        assert call.query is not None
        assert call.key is not None
        self.query, self.key = _rows_side_by_side(call.query), _rows_side_by_side(call.key)
        self.batch, self.heads, self.queries, self.size = self.query.shape
        self.groups, self.keys = self.key.shape[1:3]
        self.causal, self.scale = causal, call.scale / math.log(2)
        self.padded = max(16, 1 << (self.size - 1).bit_length())

    @property
    def _strides(self) -> tuple[int, ...]:
        return (*self.query.stride()[:3], *self.key.stride()[:3])

    @property
    def _counts(self) -> tuple[int, ...]:
        return self.heads, self.groups, self.queries, self.keys

    def _new(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=self.query.device)

    def _on_device(self) -> AbstractContextManager[object]:
        return torch.cuda.device(self.query.device) if self.query.is_cuda else nullcontext()

    def rows(
        self, shared: Tensor | None, own: Tensor | None, chosen: Tensor | None, labels: list[Labels], numbers: bool
    ) -> Rows:
        """One pass over the keys.

        `shared` [B, K, C] and `own` [B, H, K, C]: float16 columns, C a power of 2 from 16 on. `chosen` [B, K]: weights
        of the keys before a query, float32.
        """
        shape = self.batch, self.heads, self.queries
        shared_width, own_width = (0 if one is None else one.shape[-1] for one in (shared, own))
        found = Rows(
            self._new(7, *shape),
            self._new(*shape, dtype=torch.int32),
            self._new(*shape, shared_width),
            self._new(*shape, own_width),
        )
        pairs = [*labels, *[Labels(found.column, found.column, NOWHERE)] * (EQUAL - len(labels))]
        nothing = found.numbers
        with self._on_device():
            _rows_kernel[(triton.cdiv(self.queries, QUERIES), self.batch * self.heads)](
                self.query,
                self.key,
                nothing if shared is None else shared,
                nothing if own is None else own,
                nothing if chosen is None else chosen,
                *(side for one in pairs for side in (one.queries, one.keys)),
                found.numbers,
                found.column,
                found.shared,
                found.own,
                *self._strides,
                *self._counts,
                self.batch * self.heads * self.queries,
                self.scale,
                causal=self.causal,
                size=self.size,
                padded=self.padded,
                tall=QUERIES,
                block=KEYS,
                numbers=numbers,
                shared_width=shared_width,
                own_width=own_width,
                has_chosen=chosen is not None,
                a_counts=pairs[0].where,
                b_counts=pairs[1].where,
                num_warps=WARPS,
                num_stages=STAGES,
            )
        return found

    def received(self, most: Tensor, shares: Tensor) -> Tensor:
        """Sums [B, H, K] over the queries, each with its share [B, H, Q], which is divided by its row sum."""
        found = self._new(self.batch, self.heads, self.keys)
        with self._on_device():
            _columns_kernel[(triton.cdiv(self.keys, QUERIES), self.batch * self.heads)](
                self.query,
                self.key,
                most,
                shares.contiguous(),
                found,
                *self._strides,
                *self._counts,
                self.scale,
                causal=self.causal,
                size=self.size,
                padded=self.padded,
                tall=QUERIES,
                block=KEYS,
                num_warps=WARPS,
                num_stages=2,
            )
        return found

    def diagonals(self, most: Tensor, total: Tensor, offsets: Tensor) -> Tensor:
        """The weights [offset, B, H, Q] of the keys at int32 offsets from each query, 0 where there is none."""
        found = self._new(len(offsets), self.batch, self.heads, self.queries)
        with self._on_device():
            _diagonals_kernel[(triton.cdiv(self.queries, KEYS), self.batch * self.heads)](
                self.query,
                self.key,
                most,
                total,
                offsets,
                found,
                *self._strides,
                *self._counts,
                self.batch * self.heads * self.queries,
                len(offsets),
                self.scale,
                causal=self.causal,
                size=self.size,
                padded=self.padded,
                tall=KEYS,
                num_warps=4,
            )
        return found


def _rows_side_by_side(tensor: Tensor) -> Tensor:
    """The numbers of each row next to each other in memory, as the kernels read them."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()
