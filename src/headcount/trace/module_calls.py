"""Listen to the attention of families that compute it themselves, through hooks: MPNet and DeBERTa-v2."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from headcount.models.attention import Attention
from headcount.trace.call import AttentionCall, Listener
from headcount.trace.hooks import Hook


class _Call(threading.local):
    """What the hooks have seen of the module's call that is under way in this thread."""

    mask: Any = None
    returns_weights: bool = False
    value: Tensor | None = None


def listen_at_module(
    block: Attention, listener: Listener, is_needed: Callable[[], bool], weights: bool
) -> Callable[[], None]:
    """Take the mask from the module's arguments, values from their projection and weights from the module's output."""
    module = block.module
    signature = inspect.signature(module.forward)
    seen = _Call()

    # A hook may meet a pass of another thread while it is being registered: it then comes without the keywords.
    def before(_: nn.Module, args: Any, kwargs: Any = None) -> Any:
        if not is_needed():
            return None
        bound = signature.bind(*args, **kwargs)
        seen.mask = bound.arguments.get("attention_mask")
        seen.returns_weights = bound.arguments.get("output_attentions", False)
        if weights:
            bound.arguments["output_attentions"] = True
        return bound.args, bound.kwargs

    def keep_value(_: nn.Module, __: Any, output: Tensor) -> None:
        if not is_needed():
            return
        seen.value = output.unflatten(-1, (-1, block.head_size)).transpose(1, 2)
        if not weights:  # values come last before the output projection, which MPNet calls inside the module
            report(None)

    def after(_: nn.Module, __: Any, output: Any) -> Any:
        if not weights or not is_needed():
            return None
        report(output[1])
        if seen.returns_weights:
            return None
        return output[:1] if block.output_name.startswith(block.name) else (output[0], None)

    def report(attention_weights: Tensor | None) -> None:
        value, mask = seen.value, seen.mask
        assert value is not None  # the value projection has run
        seen.value = seen.mask = None
        listener(AttentionCall(block, "module", value, mask, value.shape[2], weights=attention_weights))

    hooks = ExitStack()
    hooks.callback(module.register_forward_pre_hook(Hook(before), with_kwargs=True).remove)
    hooks.callback(block.projection("value")[0].register_forward_hook(Hook(keep_value)).remove)
    hooks.callback(module.register_forward_hook(Hook(after)).remove)
    return hooks.close
