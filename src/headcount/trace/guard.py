"""Checks around every pass over a model with open sessions: its arguments, and the layers that it reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headcount.errors import InvalidOption
from headcount.trace.hooks import Hook
from headcount.trace.open_sessions import in_backward


def guard_passes(model: PreTrainedModel, wiring: Any) -> Callable[[], None]:
    """Refuse `head_mask` and check every session after a pass, until the returned function is called."""

    # A hook may meet a pass of another thread while it is being registered: it then comes without the keywords.
    def before(module: nn.Module, args: Any, kwargs: Mapping[str, Any] | None = None) -> None:
        active, kwargs = wiring.active, kwargs or {}
        if not active:
            return
        for name in ("head_mask", "decoder_head_mask", "cross_attn_head_mask"):
            if kwargs.get(name) is not None:
                raise InvalidOption(
                    f"got {name}=, which transformers 5 accepts and ignores; use headcount.gated(model, gates)"
                )
        if module is wiring.model() and not in_backward():
            wiring.state.in_pass = True
            # An encoder that has run before, alone and in this context, has been reached.
            encoded = kwargs.get("encoder_outputs") is not None
            wiring.state.reached = {
                session: {key for key in session.apart if encoded and key[0].partition(".")[0] == "encoder"}
                for session in active
            }

    def after(*_: Any) -> None:
        if not in_backward():
            wiring.state.in_pass = False
            for session in wiring.active:
                session.check(wiring.layout, wiring.state.reached.get(session, ()))
            wiring.state.reached = {}

    def count_pass(*_: Any) -> None:
        if not in_backward():
            active = wiring.active
            wiring.foreign_passes += not active
            for session in active:
                session.passes += 1

    hooks = ExitStack()
    hooks.callback(model.register_forward_hook(Hook(after)).remove)
    # A part of the model can be called alone: its first layer shows that a pass was made.
    for layers in wiring.anatomy.stacks.values():
        hooks.callback(layers[0].layer_module.register_forward_pre_hook(Hook(count_pass)).remove)
    for module in {model, model.base_model}:
        hooks.callback(module.register_forward_pre_hook(Hook(before), with_kwargs=True).remove)
    return hooks.close
