"""Gradient checkpointing runs layers again in the backward pass: with the edits of the forward pass that it repeats.

The backward pass may run in one of autograd's threads, and after the context was left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

_NAME = "_gradient_checkpointing_func"
"""The attribute where transformers keeps a layer's checkpointing function."""


class Repeatable:
    """Replaces a layer's checkpointing function; copies of the model get that function itself."""

    def __init__(self, original: Callable[..., Any], wiring: Any) -> None:
        self.original, self.wiring = original, wiring

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

    def __deepcopy__(self, memo: dict[int, Any]) -> Callable[..., Any]:
        return self.original

    def __reduce__(self) -> Any:
        return _itself, (self.original,)


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def repeatable(model: nn.Module, wiring: Any) -> Callable[[], None]:
    """Repeat layers with the edits of their pass, until the returned function is called."""
    functions = {module: Repeatable(vars(module)[_NAME], wiring) for module in model.modules() if _NAME in vars(module)}
    for module, function in functions.items():
        setattr(module, _NAME, function)

    def stop() -> None:
        for module, function in functions.items():
            if vars(module).get(_NAME) is function:  # checkpointing may have been turned on or off meanwhile
                setattr(module, _NAME, function.original)

    return stop
