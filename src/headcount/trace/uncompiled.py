"""A compiled model runs uncompiled inside a context: compiled code has no place for an edit.

Compiled code is kept and used again afterwards. What is found: `torch.compile(model)` or a module around it,
`model.compile()`, `model.forward = torch.compile(model.forward)`, the same for parts of the model, and the call that
`generate` compiles for a static cache. Passes of other threads and tasks stay compiled.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from torch import nn
from transformers import PreTrainedModel

from headcount.errors import HeadcountWarning
from headcount.trace.open_sessions import open_sessions

_lock = threading.RLock()
_warned: WeakSet[nn.Module] = WeakSet()


def run_uncompiled(model: PreTrainedModel, wiring: Any) -> Callable[[], None]:
    """Let passes under the sessions of `wiring` run uncompiled, until the returned function is called."""
    over = [
        _Uncompiled(module, name, compiled, own, wiring)
        for module in model.modules()
        for name, compiled, own in _compiled(module)
    ]
    for one in over:
        setattr(one.module, one.name, one)
    held = _Everywhere.hold()

    def stop() -> None:
        held()
        for one in over:
            if vars(one.module).get(one.name) is one:
                setattr(one.module, one.name, one.compiled)

    return stop


def _compiled(module: nn.Module) -> list[tuple[str, Any, Any]]:
    """The compiled functions that a module carries: their names, they themselves, and what they were made from."""
    found: list[tuple[str, Any, Any]] = []
    inside: Any = vars(module).get("_compiled_call_impl")
    forward: Any = vars(module).get("forward")
    if inside is not None:
        found.append(("_compiled_call_impl", inside, module._call_impl))
    if hasattr(forward, "_torchdynamo_orig_callable"):
        found.append(("forward", forward, forward._torchdynamo_orig_callable))
    return found


class _Uncompiled:
    """Over a compiled function of a module; copies of the module get that function itself."""

    def __init__(self, module: nn.Module, name: str, compiled: Any, own: Any, wiring: Any) -> None:
        self.module, self.name, self.compiled, self.own, self.wiring = module, name, compiled, own, wiring

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.wiring.active:
            return self.compiled(*args, **kwargs)
        _warn(self.wiring.model() or self.module)
        return self.own(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.compiled


class _Everywhere:
    """Over the two calls that are no attribute of the model; counted, gone when no context is open any more."""

    count = 0
    originals: tuple[tuple[type, str, Any], ...] = ()

    @classmethod
    def hold(cls) -> Callable[[], None]:
        with _lock:
            cls.count += 1
            if cls.count == 1:
                cls.originals = tuple((kind, name, vars(kind)[name]) for kind, name in _places())
                for kind, name, original in cls.originals:
                    setattr(kind, name, _STANDING[name](original))
        return cls.release

    @classmethod
    def release(cls) -> None:
        with _lock:
            cls.count -= 1
            if cls.count == 0:
                for kind, name, original in cls.originals:
                    setattr(kind, name, original)


def _places() -> list[tuple[type, str]]:
    found: list[tuple[type, str]] = [(PreTrainedModel, "get_compiled_call")]
    # Without this module nothing has been compiled yet; to import it takes a second.
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is not None:
        found.append((dynamo.OptimizedModule, "__call__"))
    return found


def _call_optimized(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        inner = self._orig_mod
        model = _model_of(inner)
        if model is None:
            return original(self, *args, **kwargs)
        _warn(model)
        return inner(*args, **kwargs)

    return call


def _get_compiled_call(original: Callable[..., Any]) -> Callable[..., Any]:
    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _model_of(self) is None:
            return original(self, *args, **kwargs)
        _warn(self)
        return self.__call__

    return get


_STANDING = {"__call__": _call_optimized, "get_compiled_call": _get_compiled_call}


def _model_of(module: nn.Module) -> nn.Module | None:
    """The model that this thread or task has a session open on and that the module is, holds, or is a part of."""
    for session in open_sessions() or ():
        model = None if session.wiring is None else session.wiring.model()
        if isinstance(model, nn.Module) and (
            module is model
            or any(one is model for one in module.modules())
            or any(one is module for one in model.modules())
        ):
            return model
    return None


def _warn(model: nn.Module) -> None:
    with _lock:
        if model in _warned:
            return
        _warned.add(model)
    warnings.warn(
        f"{type(model).__name__} is compiled: inside a context of Headcount it runs uncompiled, afterwards as before",
        HeadcountWarning,
        stacklevel=3,
    )


def warn_of_no_pass(purpose: str) -> None:
    """No pass was seen: where functions have been compiled, one of them may have run the model without its hooks."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None and dynamo.counters["frames"]["ok"]:
        warnings.warn(
            f"{purpose} saw no forward pass; a function of your own that was compiled with the model inside it, if one "
            "was called, ran without interventions: call it uncompiled inside the context",
            HeadcountWarning,
            stacklevel=4,
        )
