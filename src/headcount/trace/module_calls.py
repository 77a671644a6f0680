"""The attention calls of families that compute attention themselves, heard through hooks: MPNet and DeBERTa-v2."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from headcount.models.anatomy import Attention
from headcount.trace.call import AttentionCall, Listener
from headcount.trace.hooks import Hook


class _Call(threading.local):
    """What a call of a module that computes attention itself has shown so far, in this thread."""

    mask: Any = None
    asked: bool = False
    value: Tensor | None = None


def listen_at_module(
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
