"""All calls that reach transformers' attention interface in a pass, with the right to answer them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headcount.trace.attention import _lock


@dataclass(frozen=True)
class InterfaceCall:
    """A call of `function`, what the model's attention implementation runs, and the outputs [B, Q, H, D] it gave."""

    module: nn.Module
    function: Callable[..., Any]
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Any
    options: dict[str, Any]
    output: Tensor


Around = Callable[[], AbstractContextManager[Any]]
Answer = Callable[[InterfaceCall], Tensor]
"""From a call to the outputs that the model goes on with."""


class _Interceptor:
    def __init__(self, original: Any, modules: set[nn.Module], answer: Answer, around: Around) -> None:
        self.original, self.modules, self.answer, self.around = original, modules, answer, around
        self.thread = threading.get_ident()

    def __call__(self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any) -> Any:
        # "eager" has no entry of its own: each family's file holds its function.
        function = self.original or sys.modules[type(module).__module__].eager_attention_forward
        with self.around():
            output, *rest = function(module, query, key, value, mask, **kwargs)
        if module in self.modules and threading.get_ident() == self.thread:
            output = self.answer(InterfaceCall(module, function, query, key, value, mask, kwargs, output))
        return output, *rest


@contextmanager
def intercepted(model: nn.Module, answer: Answer, around: Around = nullcontext) -> Iterator[None]:
    """Let `answer` see every attention call of the model inside the context, and say what comes out of it.

    `around` is a context for the kernel alone.
    """
    modules = set(model.modules())
    entries = {}
    for module in modules:
        interface = getattr(sys.modules[type(module).__module__], "ALL_ATTENTION_FUNCTIONS", None)
        implementation = getattr(getattr(module, "config", None), "_attn_implementation", None)
        if interface is not None and implementation is not None:
            entries[id(interface), implementation] = interface
    with _lock, ExitStack() as stack:
        for (_, implementation), interface in entries.items():
            interceptor = _Interceptor(interface.get(implementation), modules, answer, around)
            stack.enter_context(_over(interface, implementation, interceptor))
        yield


@contextmanager
def _over(interface: Any, implementation: str, interceptor: _Interceptor) -> Iterator[None]:
    local = interface._local_mapping.get(implementation)
    interface[implementation] = interceptor
    try:
        yield
    finally:
        if local is None:
            del interface[implementation]
        else:
            interface[implementation] = local
