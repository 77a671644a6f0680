"""The largest number of bytes that tensors take at any moment of a pass, weights included."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import PreTrainedModel

from headcount.trace.modes import evaluating


class _Live(TorchDispatchMode):
    """Counts the bytes of all tensors made inside that are still alive; what a kernel needs for itself is unseen."""

    def __init__(self, known: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.known, self.bytes, self.peak = known, 0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, Tensor):
                self._count(one.untyped_storage())
        return made

    def _count(self, storage: Any) -> None:
        address, size = storage._cdata, storage.nbytes()
        if address in self.known or not size:
            return
        self.known.add(address)
        self.bytes += size
        self.peak = max(self.peak, self.bytes)
        weakref.finalize(storage, self._free, address, size)

    def _free(self, address: int, size: int) -> None:
        self.known.discard(address)
        self.bytes -= size


@torch.no_grad()
def peak_bytes(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> int:
    """Of one pass: on a GPU as its allocator counts them, elsewhere the weights and the tensors alive at once."""
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)
        torch.cuda.reset_peak_memory_stats(model.device)
        others = torch.cuda.memory_allocated(model.device)
        with evaluating(model):
            model(**inputs)
        torch.cuda.synchronize(model.device)
        return int(torch.cuda.max_memory_allocated(model.device) - others) + _weights(model)
    known = {tensor.untyped_storage()._cdata for tensor in (*model.parameters(), *model.buffers(), *inputs.values())}
    with evaluating(model), _Live(known) as live:
        model(**inputs)
    return int(live.peak) + _weights(model)


def _weights(model: PreTrainedModel) -> int:
    storages = {
        tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes()
        for tensor in (*model.parameters(), *model.buffers())
    }
    return int(sum(storages.values()))
