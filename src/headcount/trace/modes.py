"""A model in evaluation mode for a while: dropout would make every number a matter of chance."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from torch import nn

_lock = threading.Lock()
_held: WeakKeyDictionary[nn.Module, list[dict[nn.Module, bool]]] = WeakKeyDictionary()
"""For each model that is held in evaluation mode, the modes to go back to, once for every holder."""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the context; when the last of its holders leaves, each module has the mode that it had.

    A mode is the model's own: other threads have it too.
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
