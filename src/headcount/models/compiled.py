"""Functions of a model also take what `torch.compile(model)` returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from torch import nn

P = ParamSpec("P")
R = TypeVar("R")


def plain_model(model: Any) -> Any:
    """The model inside a compiled one; anything else unchanged.

    >>> import torch
    >>> linear = nn.Linear(2, 3)
    >>> plain_model(torch.compile(linear, backend="eager")) is linear
    True
    """
    while isinstance(model, nn.Module) and "_orig_mod" in model._modules:
        model = model._modules["_orig_mod"]
    return model


def takes_compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Unwrap every compiled model among a function's arguments."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        positional: Any = map(plain_model, args)
        named: Any = {name: plain_model(argument) for name, argument in kwargs.items()}
        return function(*positional, **named)

    return call
