"""One pass over a layer's keys on a GPU: all reductions that are wanted, from kernels that never write the map.

The operations are those of a `BlockPass`. It takes calls in half precision without a mask, causal or not; everything
else goes through blocks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from headcount.trace import fused_kernels
from headcount.trace.fused_kernels import (
    ANYWHERE,
    BEFORE,
    EQUAL,
    LARGEST_HEAD,
    OWN,
    SHARED,
    Kernels,
    Labels,
    Rows,
)
from headcount.trace.masks import hides_future, is_causal, window_of
from headcount.trace.memory import is_out_of_memory
from headcount.trace.precision import widened
from headcount.trace.scores import is_linear
from headcount.trace.view import ENTRIES, AttentionView

Result = Callable[[], Tensor]
FROM = 512
"""Queries from which on the kernels are used: whole maps of fewer take no more time, and are float32 throughout."""
_failed: list[str] = []
"""Why the kernels cannot be used in this process, once they have failed."""


def has_kernels(device: torch.device) -> bool:
    """Whether the kernels run there."""
    return fused_kernels.INSTALLED and device.type == "cuda" and not _failed


def can_fuse(view: AttentionView) -> bool:
    """Whether the kernels know this layer's attention."""
    call = view.call
    if view.changes or call.query is None or call.key is None or call.part is not None or call.mask is not None:
        return False
    if not has_kernels(call.query.device) or not is_linear(call):
        return False
    if call.query.requires_grad or call.query.dtype != call.key.dtype:
        return False
    if call.query.dtype not in (torch.bfloat16, torch.float16) or call.query.shape[-1] > LARGEST_HEAD:
        return False
    if any(call.options.get(name) is not None for name in ("sinks", "block_indices")):
        return False  # `scores.py` says that it does not know these
    # Flash kernels align the last query with the last key.
    flash = "flash" in call.implementation
    return not flash or (window_of(call) is None and call.key.shape[2] == call.queries)


def is_worthwhile(view: AttentionView) -> bool:
    """Whether the kernels know this layer's attention and are quicker than a whole map."""
    return view.call.queries >= FROM and can_fuse(view)


def try_fused(run: Callable[[], list[Tensor]]) -> list[Tensor] | None:
    """What the kernels give; None, and a warning, where they cannot be compiled or launched on this machine."""
    try:
        return run()
    except Exception as error:
        # A device that reports an error has stopped working for good.
        if is_out_of_memory(error) or "CUDA error" in str(error) or not _is_of_triton(error):
            raise
        _failed.append(f"{type(error).__name__}: {error}")
    warnings.warn(
        f"attention is measured in blocks, which takes longer: the kernels do not run here ({_failed[-1]})",
        stacklevel=2,
    )
    return None


def _is_of_triton(error: BaseException) -> bool:
    """Whether an error was raised by the compiler or launcher, not by the questions or the kernels' own tensors."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] == "triton":
            return True
        trace = trace.tb_next
    return False


class _Columns:
    """Columns [..., K, C] of several operations, in groups of as many as one launch takes."""

    def __init__(self, most: int, twice: bool = False) -> None:
        self.most = most // 2 if twice else most
        self.twice = twice
        """Whether what float16 rounds off takes columns of its own."""
        self.groups: list[list[Tensor]] = []
        self.found: list[Tensor] = []
        """The sums [B, H, Q, column] of each group."""

    def add(self, columns: Tensor) -> Result:
        """Where to find the sums over keys with these columns, after the launches."""
        places = []
        for piece in columns.split(self.most, -1):
            start = sum(one.shape[-1] for one in self.groups[-1]) if self.groups else self.most
            if start + piece.shape[-1] > self.most:
                self.groups.append([])
                start = 0
            self.groups[-1].append(piece)
            places.append((len(self.groups) - 1, slice(start, start + piece.shape[-1])))

        def find() -> Tensor:
            parts = [self.found[group][..., part] for group, part in places]
            return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

        return find

    def packed(self, number: int) -> tuple[Tensor | None, Tensor | None]:
        """The columns of a launch in float16, at most 1, and what they were divided by [..., C]."""
        if number >= len(self.groups):
            return None, None
        columns = torch.cat([one.float() for one in self.groups[number]], -1)
        scale = columns.abs().amax(-2).clamp(min=torch.finfo(torch.float32).tiny)
        columns = columns / scale[..., None, :]
        count = columns.shape[-1]
        width = max(16, 1 << ((2 * count if self.twice else count) - 1).bit_length())
        half = columns.new_zeros(*columns.shape[:-1], width, dtype=torch.float16)
        half[..., :count] = columns
        if self.twice:
            half[..., count : 2 * count] = columns - half[..., :count]
        return half, scale

    def keep(self, found: Tensor, scale: Tensor | None) -> None:
        """The sums of a launch, times what its columns were divided by; in place, since they are large."""
        if scale is not None:
            count = scale.shape[-1]
            if self.twice:
                found[..., :count] += found[..., count : 2 * count]
            found = found[..., :count]
            by_head = scale if scale.ndim == 3 else scale[:, None]
            self.found.append(found.mul_(by_head[:, :, None]))


class FusedPass:
    """What is wanted of a layer, and the launches that compute it."""

    def __init__(self, view: AttentionView) -> None:
        call = view.call
        flash = "flash" in call.implementation
        self.call, self.causal = call, hides_future(call) if flash else is_causal(call)
        self.kernels = Kernels(call, self.causal)
        self.shared, self.own = _Columns(SHARED), _Columns(OWN, twice=True)
        self.chosen: list[Tensor] = []
        self.labels: list[Labels] = []
        self.offsets: list[int] = []
        self.rows: list[Rows] = []
        self.wanted = False

    def run(self) -> None:
        """As few launches as take all columns, chosen keys and labels: one, unless there are many."""
        if not self.wanted:
            return
        pairs = [self.labels[start : start + EQUAL] for start in range(0, len(self.labels), EQUAL)]
        launches = max(1, len(self.shared.groups), len(self.own.groups), len(self.chosen), len(pairs))
        for number in range(launches):
            shared, shared_scale = self.shared.packed(number)
            own, own_scale = self.own.packed(number)
            chosen = self.chosen[number] if number < len(self.chosen) else None
            labels = pairs[number] if number < len(pairs) else []
            rows = self.kernels.rows(shared, own, chosen, labels, numbers=number == 0)
            self.shared.keep(rows.shared, shared_scale)
            self.own.keep(rows.own, own_scale)
            self.rows.append(rows)
        if self.offsets:
            offsets = _on(self.call.value.device, tuple(self.offsets))
            self.diagonals = self.kernels.diagonals(self.most, self.sums, offsets)

    @property
    def most(self) -> Tensor:
        """The largest score of each row, in units of log 2 [B, H, Q]."""
        return self.rows[0].numbers[0]

    @property
    def sums(self) -> Tensor:
        """The row sums [B, H, Q] of weights whose largest is 1."""
        return self.rows[0].numbers[1]

    def _number(self, place: int, launch: int = 0) -> Result:
        self.wanted = True
        return lambda: self.rows[launch].numbers[place]

    def _after(self, compute: Result) -> Result:
        self.wanted = True
        return compute

    # The operations of a view.

    def total(self) -> Result:
        return self._number(1)

    def largest(self) -> Result:
        return self._after(lambda: 1 / self.sums)

    def column_of_largest(self) -> Result:
        return self._after(lambda: self.rows[0].column.long())

    def entropy(self) -> Result:
        return self._number(2)

    def distance(self) -> Result:
        return self._number(3)

    def mass(self, classes: Tensor) -> Result:
        return self._after(self.shared.add(classes))

    def mass_on(self, chosen: Tensor) -> Result:
        find = self.own.add(chosen.expand(-1, self.kernels.heads, -1)[..., None])
        return self._after(lambda: find()[..., 0])

    def mass_before(self, chosen: Tensor) -> Result:
        self.chosen.append(chosen.float().contiguous())
        return self._number(4, len(self.chosen) - 1)

    def mass_on_equal(self, query_labels: Tensor, key_labels: Tensor, anywhere: bool = False) -> Result:
        queries, keys = _small_labels(query_labels, key_labels)
        launch, place = divmod(len(self.labels), EQUAL)
        self.labels.append(Labels(queries, keys, ANYWHERE if anywhere else BEFORE))
        return self._number(5 + place, launch)

    def picture(self, rows: Tensor, columns: Tensor) -> Result:
        find = self.shared.add(columns)
        return self._after(lambda: rows.transpose(1, 2)[:, None].float() @ find())

    def received(self, queries: Tensor) -> Result:
        return self._after(lambda: self.kernels.received(self.most, queries[:, None].float() / self.sums))

    def diagonal(self, offset: int) -> Result:
        number = len(self.offsets)
        self.offsets.append(offset)
        queries, keys = self.kernels.queries, self.kernels.keys
        start, stop = max(0, -offset), max(0, -offset, min(queries, keys - offset))
        return self._after(lambda: self.diagonals[number, ..., start:stop])

    def entries(self, example: Tensor, query: Tensor, key: Tensor) -> Result:
        return self._after(lambda: self._entries(example, query, key))

    def _entries(self, example: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """[entry, H]: a product of two rows for each."""
        reads, call = self.call.reads, self.call
        assert call.query is not None
        assert call.key is not None
        result = self.sums.new_zeros(len(example), len(reads))
        size = max(1, ENTRIES // (len(reads) * call.query.shape[-1]))
        for start in range(0, len(example), size):
            part = slice(start, start + size)
            where, asked, read = example[part], query[part], key[part]
            products = widened(call.query[where, :, asked]) * widened(call.key[where, :, read])[:, reads]
            weights = self._weights(products.sum(-1), self.most[where, :, asked]) / self.sums[where, :, asked]
            result[part] = weights if not self.causal else torch.where((read <= asked)[:, None], weights, 0)
        return result

    def row(self, query: int) -> Result:
        return self._after(lambda: self._row(query % self.kernels.queries))

    def _row(self, query: int) -> Tensor:
        call = self.call
        assert call.query is not None
        assert call.key is not None
        keys = query + 1 if self.causal else call.key.shape[2]
        asked, result = widened(call.query[:, :, query]), self.sums.new_zeros(*self.sums.shape[:2], call.key.shape[2])
        for head, group in enumerate(call.reads):  # so that keys are neither copied nor widened for all heads
            scores = (widened(call.key[:, group, :keys]) @ asked[:, head, :, None])[..., 0]
            weights = self._weights(scores, self.most[:, head, query, None])
            result[:, head, : weights.shape[-1]] = weights / self.sums[:, head, query, None]
        return result

    def _weights(self, products: Tensor, most: Tensor) -> Tensor:
        """exp(score - largest score), from products of queries and keys."""
        return (products * self.kernels.scale - most).clamp(max=0).exp2()


@lru_cache(maxsize=8)
def _on(device: torch.device, numbers: tuple[int, ...]) -> Tensor:
    """Numbers as int32 on a device, the same for all layers."""
    return torch.tensor(numbers, dtype=torch.int32, device=device)


def _small_labels(queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """The same labels as int32, where negative ones are equal to nothing."""
    if queries.dtype == torch.int64:
        ranks = torch.unique(torch.cat((queries.clamp(min=-1), keys.clamp(min=-1)), 1), return_inverse=True)[1]
        of_queries, of_keys = ranks.split([queries.shape[1], keys.shape[1]], 1)
        queries, keys = torch.where(queries < 0, -1, of_queries), torch.where(keys < 0, -1, of_keys)
    return torch.where(queries < 0, -2, queries).int().contiguous(), torch.where(keys < 0, -1, keys).int().contiguous()
