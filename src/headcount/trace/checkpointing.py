"""Gradient checkpointing runs layers again in the backward pass: with the edits of the forward pass that it repeats.

The backward pass may run in one of autograd's threads, and after the context was left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from headcount.trace.hooks import AttributeOverride

_NAME = "_gradient_checkpointing_func"
"""The attribute where transformers keeps a layer's checkpointing function."""


class Repeatable(AttributeOverride):
    """Replaces a layer's checkpointing function: a repeated layer has the sessions of its pass."""

    def __init__(self, module: nn.Module, wiring: Any) -> None:
        super().__init__(module, _NAME)
        self.wiring = wiring

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        wiring = self.wiring
        sessions, uses, ran = wiring.active, wiring.uses.copy(), False
        if not sessions:
            return self.original(function, *args, **kwargs)

        def run(*inputs: Any, **options: Any) -> Any:
            nonlocal ran
            if not ran:
                ran = True
                return function(*inputs, **options)
            with wiring.repeated(sessions, uses):
                return function(*inputs, **options)

        return self.original(run, *args, **kwargs)


def repeatable(model: nn.Module, wiring: Any) -> Callable[[], None]:
    """Repeat layers with the edits of their pass, until the returned function is called."""
    overrides = [Repeatable(module, wiring) for module in model.modules() if _NAME in vars(module)]

    def stop() -> None:
        for override in overrides:
            override.restore()

    return stop
