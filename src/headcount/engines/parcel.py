"""Work that is sent to other processes: the functions and plans as bytes, and the weights inside apart from them.

Weights are named by their content, so that a worker gets them once, however many runs a verb consists of, and can check
that what arrived is what was sent.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.errors import ClusterProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

MODEL = "model"
"""The place of weights that were on the CPU: where a worker computes."""
OWN = {threading.local: threading.local, type(threading.Lock()): threading.Lock}
"""What belongs to the threads of one process: another one begins anew."""
SMALL = 1 << 16
"""Tensors of fewer bytes travel with the functions."""


@dataclass(frozen=True)
class Parcel:
    """What a worker needs for the units of a run."""

    code: bytes
    weights: Mapping[str, np.ndarray]
    """The bytes of the tensors by their digests."""

    @property
    def size(self) -> int:
        return len(self.code) + sum(array.nbytes for array in self.weights.values())


def pack(work: Any) -> Parcel:
    """The work as it is now: a model inside keeps its mode, its hooks and which of its weights are tied."""
    import torch
    from ray import cloudpickle
    from torch import nn

    weights: dict[str, np.ndarray] = {}
    kept: dict[int, tuple[str, torch.UntypedStorage]] = {}
    of_models: set[int] = set()

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            if type(thing) in OWN:
                return OWN[type(thing)], ()
            if isinstance(thing, nn.Module):
                tensors = [*thing._parameters.values(), *thing._buffers.values()]
                of_models.update(one.untyped_storage()._cdata for one in tensors if one is not None)
            if type(thing) is torch.Tensor and _is_plain(thing):
                storage = thing.untyped_storage()
                key = storage._cdata
                if key not in kept:
                    data = np.array([], np.uint8) if not storage.nbytes() else _bytes_of(storage)
                    digest = _digest(data)
                    kept[key] = digest, storage  # the storage, so that its address is not used again meanwhile
                    weights[digest] = data
                place = MODEL if key in of_models and thing.device.type == "cpu" else str(thing.device)
                shape = (thing.dtype, thing.storage_offset(), tuple(thing.shape), thing.stride(), thing.requires_grad)
                return _take, (kept[key][0], place, *shape)
            return super().reducer_override(thing)

    file = io.BytesIO()
    pickler: Any = Pickler
    pickler(file, protocol=5).dump(work)
    return Parcel(file.getvalue(), weights)


def _is_plain(tensor: torch.Tensor) -> bool:
    import torch

    strided = tensor.layout == torch.strided and not tensor.is_quantized and tensor.device.type in ("cpu", "cuda")
    return strided and tensor.is_leaf and tensor.untyped_storage().nbytes() >= SMALL and not tensor.is_conj()


def _bytes_of(storage: torch.UntypedStorage) -> np.ndarray:
    import torch

    flat = torch.tensor([], dtype=torch.uint8, device=storage.device).set_(storage)
    return np.asarray(flat.cpu().numpy())


def _digest(data: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(data).data).hexdigest()


class Shelf:
    """The weights that a worker has, by their digests, on its device."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.there: dict[tuple[str, str], torch.UntypedStorage] = {}
        self.arriving: dict[str, np.ndarray] = {}

    def unpack(self, code: bytes, arrived: Mapping[str, np.ndarray], needed: Iterable[str]) -> Any:
        """The work. `arrived`: the weights that the shelf lacked; those that are not needed any more leave it."""
        from ray import cloudpickle

        needed = set(needed)
        for digest, data in arrived.items():
            if _digest(data) != digest:
                raise ClusterProblem("the weights were damaged on their way to a worker; run the same command again")
        self.there = {key: storage for key, storage in self.there.items() if key[0] in needed}
        self.arriving = dict(arrived)
        try:
            with _unpacking(self):
                return cloudpickle.loads(code)
        finally:
            self.arriving = {}

    def find(self, digest: str, place: str) -> torch.UntypedStorage:
        """The bytes on the device where they belong."""
        import torch

        device = self._device(place)
        key = digest, device
        if key not in self.there:
            if digest in self.arriving:
                data = torch.from_numpy(np.array(self.arriving[digest]))  # a copy: what arrives cannot be written to
            else:
                other = next(storage for (name, _), storage in self.there.items() if name == digest)
                data = torch.tensor([], dtype=torch.uint8, device=other.device).set_(other)
            self.there[key] = data.to(device).untyped_storage()
        return self.there[key]

    def _device(self, place: str) -> str:
        """Where a worker has what was at a place: on as many GPUs as it has."""
        import torch

        _, _, number = place.partition("cuda:")
        if place == MODEL or self.device == "cpu":
            return self.device if place != "cpu" else "cpu"
        return place if not number or int(number) < torch.cuda.device_count() else self.device


_shelf: ContextVar[Shelf | None] = ContextVar("headcount_shelf", default=None)


@contextmanager
def _unpacking(shelf: Shelf) -> Iterator[None]:
    token = _shelf.set(shelf)
    try:
        yield
    finally:
        _shelf.reset(token)


def _take(
    digest: str, place: str, dtype: Any, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], grad: bool
) -> torch.Tensor:
    """A tensor over the bytes on the shelf."""
    import torch

    shelf = _shelf.get()
    assert shelf is not None, "a parcel is opened by a shelf"
    storage = shelf.find(digest, place)
    tensor = torch.tensor([], dtype=dtype, device=storage.device).set_(storage, offset, shape, stride)
    return tensor.requires_grad_(grad)
