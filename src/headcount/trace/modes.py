"""Evaluation mode for as long as a context lasts: with dropout every number would be random."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from torch import nn

_lock = threading.Lock()
_held: WeakKeyDictionary[nn.Module, list[dict[nn.Module, bool]]] = WeakKeyDictionary()
"""By model in evaluation mode, the modes of its modules to restore, once for every open context."""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the context; when the last open context ends, each module gets its mode back.

    Modes belong to the model: other threads see them too.
    """
    with _lock:
        held = _held.setdefault(model, [])
        held.append(held[0] if held else {module: module.training for module in model.modules()})
        model.eval()
    try:
        yield
    finally:
        with _lock:
            modes = held.pop()
            if not held:
                del _held[model]
                for module, training in modes.items():
                    module.training = training
