"""The attention of one layer in a long text: all that is asked of it in one pass over blocks of queries.

Questions are asked twice. In the first round, `asking`, every operation notes what is wanted and gives zeros of the
right shape; then `answer` runs one pass over the blocks (`block_pass.py`), and in the second round the same operations
give the results. An operation that was not noted, because its arguments depend on attention, gets a pass of its own:
correct, only slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headcount.trace.block_pass import BlockPass, dtype_of
from headcount.trace.blocks import is_long, queries_of_block
from headcount.trace.fused_pass import FusedPass, can_fuse, is_worthwhile, try_fused
from headcount.trace.view import AttentionView

Arguments = tuple[Any, ...]


@dataclass
class _Wish:
    operation: str
    arguments: Arguments
    result: Tensor | None = None


class BlockedView(AttentionView):
    """The operations of an `AttentionView`, for `size` queries at a time; `map` and `unnormalised` are still whole."""

    def __init__(self, whole: AttentionView, size: int | None = None) -> None:
        super().__init__(whole.call, whole.classes, whole.changes, whole.outputs)
        self.chosen, self.size = whole.chosen, size or queries_of_block(whole.call)
        self.wishes: list[_Wish] = []
        self.was_asked = False

    def of_heads(self, chosen: list[int]) -> AttentionView | None:
        some = super().of_heads(chosen)
        self.wishes.clear()
        return None if some is None else BlockedView(some, self.size)

    @contextmanager
    def asking(self) -> Iterator[Callable[[], bool]]:
        """Inside, operations note what is wanted and return zeros; gives a function: whether anything was wanted."""
        self.is_asking, self.was_asked = True, False
        try:
            yield lambda: self.was_asked
        finally:
            self.is_asking = False

    def answer(self) -> None:
        """Compute all that was noted, in one pass."""
        self._compute([wish for wish in self.wishes if wish.result is None])

    def _compute(self, wishes: list[_Wish]) -> None:
        def run(one_pass: BlockPass | FusedPass) -> list[Tensor]:
            results = [getattr(one_pass, wish.operation)(*wish.arguments) for wish in wishes]
            one_pass.run()
            return [result() for result in results]

        found = try_fused(lambda: run(FusedPass(self))) if can_fuse(self) else None
        for wish, result in zip(wishes, found or run(BlockPass(self, self.size)), strict=True):
            wish.result = result

    def _ask(self, operation: str, shape: tuple[int, ...], *arguments: Any, dtype: torch.dtype | None = None) -> Tensor:
        self.was_asked = True
        alike = [one for one in self.wishes if one.operation == operation]
        wish = next((one for one in alike if _identical(one.arguments, arguments)), None)
        if wish is None and not self.is_asking:  # to compare values waits for a GPU; asked twice, it is computed twice
            wish = next((one for one in alike if _same(one.arguments, arguments)), None)
        if wish is None:
            wish = _Wish(operation, arguments)
            self.wishes.append(wish)
        if wish.result is not None:
            return wish.result
        if self.is_asking:
            return torch.zeros(shape, dtype=dtype or dtype_of(self.call), device=self.call.value.device)
        self._compute([wish])
        assert wish.result is not None
        return wish.result

    @property
    def _shape(self) -> tuple[int, int, int]:
        return len(self.call.value), len(self.call.block.heads), self.call.queries

    @property
    def _keys(self) -> int:
        return int(self.call.value.shape[2])

    @property
    def total(self) -> Tensor:
        return self._ask("total", self._shape)

    @property
    def mass(self) -> Tensor:
        assert self.classes is not None
        return self._ask("mass", (*self._shape, self.classes.shape[-1]), self.classes)

    @property
    def largest(self) -> Tensor:
        return self._ask("largest", self._shape)

    @property
    def column_of_largest(self) -> Tensor:
        return self._ask("column_of_largest", self._shape, dtype=torch.long)

    def mass_on(self, chosen: Tensor) -> Tensor:
        return self._ask("mass_on", self._shape, chosen)

    def mass_before(self, chosen: Tensor) -> Tensor:
        return self._ask("mass_before", self._shape, chosen)

    def mass_on_equal(self, query_labels: Tensor, key_labels: Tensor, anywhere: bool = False) -> Tensor:
        return self._ask("mass_on_equal", self._shape, query_labels, key_labels, anywhere)

    def distance(self) -> Tensor:
        return self._ask("distance", self._shape)

    def picture(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self._ask("picture", (*self._shape[:2], rows.shape[-1], columns.shape[-1]), rows, columns)

    def received(self, queries: Tensor) -> Tensor:
        return self._ask("received", (*self._shape[:2], self._keys), queries)

    def diagonal(self, offset: int) -> Tensor:
        start, stop = max(0, -offset), min(self._shape[2], self._keys - offset)
        return self._ask("diagonal", (*self._shape[:2], max(0, stop - start)), offset)

    def entries(self, example: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return self._ask("entries", (len(example), self._shape[1]), example, query, key)

    def row(self, query: int) -> Tensor:
        return self._ask("row", (*self._shape[:2], self._keys), query)

    def entropy(self) -> Tensor:
        return self._ask("entropy", self._shape)


def in_blocks_if_long(view: AttentionView) -> AttentionView:
    """The view itself, or, where its whole map would take too much memory or time, one that never has all of it."""
    if isinstance(view, BlockedView) or not (is_long(view.call) or is_worthwhile(view)):
        return view
    return BlockedView(view)


def _identical(arguments: Arguments, others: Arguments) -> bool:
    pairs = list(zip(arguments, others, strict=True))
    return all(one is other or (not isinstance(one, Tensor) and one == other) for one, other in pairs)


def _same(arguments: Arguments, others: Arguments) -> bool:
    return len(arguments) == len(others) and all(_equal(*pair) for pair in zip(arguments, others, strict=True))


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if not isinstance(one, Tensor):
        return bool(one == other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(one, other) or bool(((one == other) | ((one != one) & (other != other))).all())
