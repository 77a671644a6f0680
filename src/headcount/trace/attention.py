"""Listen to the calls of a layer's attention, whatever kernel runs it.

For families that use transformers' attention interface, one function replaces the entry of the model's own
implementation: the model keeps its kernel and its masks, other models pass through untouched. The families that compute
attention themselves are heard through hooks (`module_calls.py`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headcount.models.attention import Attention
from headcount.trace.call import AttentionCall, Listener
from headcount.trace.module_calls import listen_at_module


def listen(
    block: Attention, listener: Listener, is_needed: Callable[[], bool], weights: bool = False
) -> Callable[[], None]:
    """Call `listener` at every call of the layer's attention, until the returned function is called.

    It is called before the output projection. With `weights`, the families that compute attention themselves return
    their weights, and the call comes when the module has ended. `is_needed` says whether anyone listens to this pass.
    """
    if block.family.interface:
        return _listen_at_interface(block, listener)
    return listen_at_module(block, listener, is_needed, weights)


LOCK = threading.RLock()
"""Held while entries of an attention interface change."""
_listeners: WeakKeyDictionary[nn.Module, list[tuple[Attention, Listener]]] = WeakKeyDictionary()
_overrides: dict[tuple[int, str], _Override] = {}


def replace_entry(interface: Any, implementation: str, function: Callable[..., Any]) -> Callable[[], None]:
    """Replace an entry of an attention interface; the returned function restores it."""
    local = interface._local_mapping.get(implementation)
    interface[implementation] = function

    def restore() -> None:
        if local is None:
            del interface[implementation]
        else:
            interface[implementation] = local

    return restore


def kernel_function(entry: Any, module: nn.Module) -> Callable[..., Any]:
    """The function that runs a module's attention: "eager" has no entry of its own, but one in each family's file."""
    function: Callable[..., Any] = entry or sys.modules[type(module).__module__].eager_attention_forward
    return function


class _Override:
    """Replaces one entry of one attention interface for as long as anyone listens."""

    def __init__(self, interface: Any, implementation: str) -> None:
        self.implementation, self.listeners = implementation, 0
        self.original = interface.get(implementation)
        self.restore = replace_entry(interface, implementation, self)

    def __call__(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, *args: Any, **kwargs: Any
    ) -> Any:
        output = kernel_function(self.original, module)(module, query, key, value, mask, *args, **kwargs)
        for block, listener in tuple(_listeners.get(module, ())):
            listener(AttentionCall(block, self.implementation, value, mask, query.shape[2], query, key, None, kwargs))
        return output


def _listen_at_interface(block: Attention, listener: Listener) -> Callable[[], None]:
    module: Any = block.module
    interface = sys.modules[type(module).__module__].ALL_ATTENTION_FUNCTIONS
    key = (id(interface), module.config._attn_implementation)
    entry = (block, listener)
    with LOCK:
        if key not in _overrides:
            _overrides[key] = _Override(interface, key[1])
        override = _overrides[key]
        override.listeners += 1
        _listeners.setdefault(module, []).append(entry)

    def stop() -> None:
        with LOCK:
            _listeners[module].remove(entry)
            if not _listeners[module]:
                del _listeners[module]
            override.listeners -= 1
            if not override.listeners:
                override.restore()
                del _overrides[key]

    return stop
