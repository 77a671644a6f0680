"""What an attention module was called with, whatever kernel runs it.

Families that use transformers' attention interface are heard through one function, put over the entry
of the implementation that the model came with: the model keeps its kernel and its masks, other models
pass through untouched. The two families that compute attention themselves are heard through hooks.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headcount.models.anatomy import Attention
from headcount.trace.hooks import Hook


@dataclass
class AttentionCall:
    """One call of a layer's attention: query [B, H, Q, D], key and value [B, groups, K, D], the mask as it came.

    `weights` [B, H, Q, K] is there where the module computed it anyway.
    """

    block: Attention
    implementation: str
    value: Tensor
    mask: Any
    queries: int
    query: Tensor | None = None
    key: Tensor | None = None
    weights: Tensor | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def layer_key(self) -> tuple[str, int]:
        return self.block.stack, self.block.layer

    @property
    def reads(self) -> list[int]:
        """For each head, which of the keys and values it reads: those of a group stand side by side.

        A pruned model with groups of unlike size hands some of them out more than once.
        """
        heads = len(self.block.heads)
        return [number * self.value.shape[1] // heads for number in range(heads)]

    def by_head(self, tensor: Tensor) -> Tensor:
        """Keys or values [B, H, K, D] as each head reads them; no copy where each head has its own."""
        groups = self.reads
        return tensor if len(set(groups)) == len(groups) else tensor[:, groups]

    @property
    def scale(self) -> float:
        """What queries times keys are multiplied by."""
        scale = self.options.get("scaling")
        assert self.query is not None
        return float(self.query.shape[-1] ** -0.5 if scale is None else scale)

    @property
    def sinks(self) -> Tensor | None:
        """The scores [H] of what a head can attend to beside all keys, as GPT-OSS has it; None for most families."""
        return self.options.get("s_aux")

    def of_heads(self, chosen: list[int]) -> AttentionCall | None:
        """The call as some heads alone had it; None where its mask cannot be taken apart."""
        heads, groups = len(self.block.heads), self.reads
        if not isinstance(self.mask, Tensor | None) and self.mask.shape[1] > 1:
            return None

        def pick(tensor: Any) -> Any:
            by_head = isinstance(tensor, Tensor) and tensor.ndim == 4 and tensor.shape[1] == heads > 1
            return tensor[:, chosen] if by_head else tensor

        block = replace(self.block, heads=tuple(self.block.heads[number] for number in chosen))
        reads = [groups[number] for number in chosen]
        options = {name: pick(option) for name, option in self.options.items()}
        if self.sinks is not None:
            options["s_aux"] = self.sinks[chosen]
        return replace(
            self,
            block=block,
            value=self.value[:, reads],
            mask=pick(self.mask),
            query=pick(self.query),
            key=None if self.key is None else self.key[:, reads],
            weights=pick(self.weights),
            options=options,
        )


Listener = Callable[[AttentionCall], None]


def listen(
    block: Attention, listener: Listener, wanted: Callable[[], bool], weights: bool = False
) -> Callable[[], None]:
    """Call `listener` at every call of the layer's attention, until the returned function is called.

    It is called before the output projection. With `weights`, the families that compute attention themselves
    are asked for their weights, and the call comes when the module has ended; `wanted` says whether this pass is to be.
    """
    if block.family.interface:
        return _listen_at_interface(block, listener)
    return _listen_at_module(block, listener, wanted, weights)


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


class _Call(threading.local):
    """What a call of a module that computes attention itself has shown so far, in this thread."""

    mask: Any = None
    asked: bool = False
    value: Tensor | None = None


def _listen_at_module(
    block: Attention, listener: Listener, wanted: Callable[[], bool], weights: bool
) -> Callable[[], None]:
    """MPNet and DeBERTa-v2: the mask from the arguments, values from the projection, weights from the output."""
    module = block.module
    signature = inspect.signature(module.forward)
    seen = _Call()

    # A hook may meet a pass of another thread while it is being registered: it then comes without the keywords.
    def before(_: nn.Module, args: Any, kwargs: Any = None) -> Any:
        if not wanted():
            return None
        bound = signature.bind(*args, **kwargs)
        seen.mask = bound.arguments.get("attention_mask")
        seen.asked = bound.arguments.get("output_attentions", False)
        if weights:
            bound.arguments["output_attentions"] = True
        return bound.args, bound.kwargs

    def keep_value(_: nn.Module, __: Any, output: Tensor) -> None:
        if not wanted():
            return
        seen.value = output.unflatten(-1, (-1, block.head_size)).transpose(1, 2)
        if not weights:  # values come last before the output projection, which MPNet calls inside the module
            tell(None)

    def after(_: nn.Module, __: Any, output: Any) -> Any:
        if not weights or not wanted():
            return None
        tell(output[1])
        if seen.asked:
            return None
        return output[:1] if block.output_name.startswith(block.name) else (output[0], None)

    def tell(found: Tensor | None) -> None:
        value, mask = seen.value, seen.mask
        assert value is not None  # the value projection has run
        seen.value = seen.mask = None
        listener(AttentionCall(block, "module", value, mask, value.shape[2], weights=found))

    handles = [
        module.register_forward_pre_hook(Hook(before), with_kwargs=True),
        block.projection("value")[0].register_forward_hook(Hook(keep_value)),
        module.register_forward_hook(Hook(after)),
    ]

    def stop() -> None:
        for handle in handles:
            handle.remove()

    return stop
