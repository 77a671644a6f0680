"""Functions that stand before the code of layers, in the passes of one thread or task alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import nn

StandIn = Callable[..., Any]
"""Called with the layer's own code, its arguments and its keywords."""
_answering: ContextVar[Mapping[nn.Module, StandIn] | None] = ContextVar("headcount_stand_ins", default=None)
_lock = threading.RLock()


class _Forward:
    """Over a layer's `forward`, counted; the layer's own code where nobody stands before it."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.count = module, 0
        self.local, self.own = vars(module).get("forward"), module.forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        standing = (_answering.get() or {}).get(self.module)
        return self.own(*args, **kwargs) if standing is None else standing(self.own, args, kwargs)

    def hold(self, more: int) -> None:
        self.count += more
        if self.count:
            self.module.forward = self
        elif self.local is not None:
            self.module.forward = self.local
        else:
            del self.module.forward


@contextmanager
def standing_before(standing: Mapping[nn.Module, StandIn]) -> Iterator[None]:
    """Let each function answer for its module inside the context; afterwards the modules are as they were."""
    with _lock:
        over = [_over(module) for module in standing]
        for one in over:
            one.hold(1)
    token = _answering.set({**(_answering.get() or {}), **standing})
    try:
        yield
    finally:
        _answering.reset(token)
        with _lock:
            for one in over:
                one.hold(-1)


def _over(module: nn.Module) -> _Forward:
    return module.forward if isinstance(module.forward, _Forward) else _Forward(module)


def own_forward(module: nn.Module) -> Callable[..., Any]:
    """The module's own code, whoever stands before it."""
    return module.forward.own if isinstance(module.forward, _Forward) else module.forward
