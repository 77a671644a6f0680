"""What is checked around every pass over a model with open sessions: what it is called with, what it reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from headcount.errors import InvalidOption
from headcount.trace.hooks import Hook
from headcount.trace.open_sessions import in_backward


def guard_passes(model: PreTrainedModel, wiring: Any) -> Callable[[], None]:
    """Refuse the keyword that transformers 5 accepts and ignores, and check every session after a pass.

    Until the returned function is called.
    """

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
            wiring.under.in_pass = True
            # An encoder that has run before, alone and in this context, has been reached.
            given = kwargs.get("encoder_outputs") is not None
            wiring.under.reached = {
                session: {key for key in session.apart if given and key[0] == "encoder"} for session in active
            }

    def after(*_: Any) -> None:
        if not in_backward():
            wiring.under.in_pass = False
            for session in wiring.active:
                session.check(wiring.layout, wiring.under.reached.get(session, ()))
            wiring.under.reached = {}

    def passing(*_: Any) -> None:
        if not in_backward():
            active = wiring.active
            wiring.foreign_passes += not active
            for session in active:
                session.passes += 1

    handles = [model.register_forward_hook(Hook(after))]
    # A part of the model can be called alone: its first layer shows that a pass was made.
    for layers in wiring.anatomy.stacks.values():
        handles.append(layers[0].layer_module.register_forward_pre_hook(Hook(passing)))
    for module in {id(model): model, id(model.base_model): model.base_model}.values():
        handles.append(module.register_forward_pre_hook(Hook(before), with_kwargs=True))

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return remove
