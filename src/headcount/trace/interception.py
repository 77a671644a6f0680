"""Intercept all calls of a model that reach transformers' attention interface, and answer them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headcount.trace.attention import LOCK, kernel_function, replace_entry


@dataclass(frozen=True)
class InterfaceCall:
    """A call of `function`, which runs the model's attention implementation, and its outputs [B, Q, H, D]."""

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


@contextmanager
def intercepted(model: nn.Module, answer: Answer, around: Around = nullcontext) -> Iterator[None]:
    """Call `answer` with every attention call of the model inside the context; its result replaces the outputs.

    `around` is a context for the kernel alone.
    """
    modules, thread = set(model.modules()), threading.get_ident()
    entries = {}
    for module in modules:
        interface = getattr(sys.modules[type(module).__module__], "ALL_ATTENTION_FUNCTIONS", None)
        implementation = getattr(getattr(module, "config", None), "_attn_implementation", None)
        if interface is not None and implementation is not None:
            entries[id(interface), implementation] = interface

    def interceptor(original: Any) -> Callable[..., Any]:
        def attend(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any) -> Any:
            function = kernel_function(original, module)
            with around():
                output, *rest = function(module, query, key, value, mask, **kwargs)
            if module in modules and threading.get_ident() == thread:
                output = answer(InterfaceCall(module, function, query, key, value, mask, kwargs, output))
            return output, *rest

        return attend

    with LOCK, ExitStack() as entered:
        for (_, implementation), interface in entries.items():
            entered.callback(replace_entry(interface, implementation, interceptor(interface.get(implementation))))
        yield
