"""A device of any size: an operation that leaves more tensors alive than fit is refused, as a GPU's allocator does."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LimitedMemory(TorchDispatchMode):
    """Counts the bytes of all tensors made inside that are alive; more than `limit` is a `torch.OutOfMemoryError`.

    `known`: tensors that are there already, such as a model's weights. What a kernel needs for itself is unseen.
    """

    def __init__(self, known: Iterable[Tensor], limit: int | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.limit, self.bytes, self.peak, self.refusals = limit, 0, 0, 0
        self.alive = {tensor.untyped_storage()._cdata for tensor in known}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, Tensor):
                self._count(tensor.untyped_storage())
        if self.limit is not None and self.bytes > self.limit:
            self.refusals += 1
            raise torch.OutOfMemoryError(f"{self.bytes} bytes are more than {self.limit}")
        return made

    def _count(self, storage: Any) -> None:
        number, size = storage._cdata, storage.nbytes()
        if number in self.alive or not size:
            return
        self.alive.add(number)
        self.bytes += size
        self.peak = max(self.peak, self.bytes)
        weakref.finalize(storage, self._free, number, size)

    def _free(self, number: int, size: int) -> None:
        self.alive.discard(number)
        self.bytes -= size
