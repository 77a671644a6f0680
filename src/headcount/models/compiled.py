"""The model inside what `torch.compile` gives: functions of a model take that too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from torch import nn

P = ParamSpec("P")
R = TypeVar("R")


def plain_model(model: Any) -> Any:
    """The model itself, where `torch.compile(model)` was given; anything else as it is.

    >>> import torch
    >>> linear = nn.Linear(2, 3)
    >>> plain_model(torch.compile(linear, backend="eager")) is linear
    True
    """
    while isinstance(model, nn.Module) and "_orig_mod" in model._modules:
        model = model._modules["_orig_mod"]
    return model


def takes_compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of one or more models be called with what `torch.compile` gives; it gets the models themselves."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        plain: Any = [plain_model(one) for one in args]
        named: Any = {name: plain_model(one) for name, one in kwargs.items()}
        return function(*plain, **named)

    return call
