"""How the calls of a layer's attention are heard, whatever kernel runs it.

Families that use transformers' attention interface are heard through one function, put over the entry
of the implementation that the model came with: the model keeps its kernel and its masks, other models
pass through untouched. The two families that compute attention themselves are heard through hooks.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headcount.models.anatomy import Attention
from headcount.trace.call import AttentionCall, Listener
from headcount.trace.module_calls import listen_at_module


def listen(
    block: Attention, listener: Listener, wanted: Callable[[], bool], weights: bool = False
) -> Callable[[], None]:
    """Call `listener` at every call of the layer's attention, until the returned function is called.

    It is called before the output projection. With `weights`, the families that compute attention themselves
    are asked for their weights, and the call comes when the module has ended; `wanted` says whether this pass is to be.
    """
    if block.family.interface:
        return _listen_at_interface(block, listener)
    return listen_at_module(block, listener, wanted, weights)


_listeners: WeakKeyDictionary[nn.Module, list[tuple[Attention, Listener]]] = WeakKeyDictionary()
_overrides: dict[tuple[int, str], _Override] = {}
_lock = threading.RLock()
"""Held while the two are changed."""


class _Override:
    """The function over one entry of one attention interface, counted, gone when nobody listens any more."""

    def __init__(self, interface: Any, implementation: str) -> None:
        self.interface, self.implementation, self.count = interface, implementation, 0
        self.local = interface._local_mapping.get(implementation)
        self.original = interface.get(implementation)

    def __enter__(self) -> None:
        if self.count == 0:
            self.interface[self.implementation] = self
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if self.count:
            return
        if self.local is None:
            del self.interface[self.implementation]
        else:
            self.interface[self.implementation] = self.local
        del _overrides[id(self.interface), self.implementation]

    def __call__(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, *args: Any, **kwargs: Any
    ) -> Any:
        # "eager" has no entry of its own: each family's file holds its function.
        function = self.original or sys.modules[type(module).__module__].eager_attention_forward
        output = function(module, query, key, value, mask, *args, **kwargs)
        for block, listener in tuple(_listeners.get(module, ())):
            listener(AttentionCall(block, self.implementation, value, mask, query.shape[2], query, key, None, kwargs))
        return output


def _listen_at_interface(block: Attention, listener: Listener) -> Callable[[], None]:
    module: Any = block.module
    interface = sys.modules[type(module).__module__].ALL_ATTENTION_FUNCTIONS
    key = (id(interface), module.config._attn_implementation)
    entry = (block, listener)
    with _lock:
        override = _overrides.setdefault(key, _Override(interface, key[1]))
        override.__enter__()
        _listeners.setdefault(module, []).append(entry)

    def stop() -> None:
        with _lock:
            _listeners[module].remove(entry)
            if not _listeners[module]:
                del _listeners[module]
            override.__exit__()

    return stop
