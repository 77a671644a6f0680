"""A compiled model runs uncompiled inside a context: compiled code cannot be edited.

Compiled code is kept and used again afterwards. Covered are `torch.compile(model)` or a module around it,
`model.compile()`, `model.forward = torch.compile(model.forward)`, the same for parts of the model, and the call that
`generate` compiles for a static cache. Passes of other threads and tasks stay compiled.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
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
    functions = [
        _Uncompiled(module, name, compiled, own, wiring)
        for module in model.modules()
        for name, compiled, own in _compiled_functions(module)
    ]
    for function in functions:
        setattr(function.module, function.name, function)
    _ClassCalls.hold()

    def stop() -> None:
        _ClassCalls.release()
        for function in functions:
            if vars(function.module).get(function.name) is function:
                setattr(function.module, function.name, function.compiled)

    return stop


def _compiled_functions(module: nn.Module) -> Iterator[tuple[str, Any, Any]]:
    """The compiled functions among a module's attributes: the name, the function, and the one it was compiled from."""
    call: Any = vars(module).get("_compiled_call_impl")
    forward: Any = vars(module).get("forward")
    if call is not None:
        yield "_compiled_call_impl", call, module._call_impl
    if hasattr(forward, "_torchdynamo_orig_callable"):
        yield "forward", forward, forward._torchdynamo_orig_callable


class _Uncompiled:
    """Replaces a compiled function of a module; copies of the module get that function itself."""

    def __init__(self, module: nn.Module, name: str, compiled: Any, own: Any, wiring: Any) -> None:
        self.module, self.name, self.compiled, self.own, self.wiring = module, name, compiled, own, wiring

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.wiring.active:
            return self.compiled(*args, **kwargs)
        _warn(self.wiring.model() or self.module)
        return self.own(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.compiled


class _ClassCalls:
    """Replaces the two methods that run compiled code of any model, for as long as a context is open anywhere."""

    count = 0
    originals: tuple[tuple[type, str, Any], ...] = ()

    @classmethod
    def hold(cls) -> None:
        with _lock:
            cls.count += 1
            if cls.count > 1:
                return
            replacements: dict[tuple[type, str], Any] = {(PreTrainedModel, "get_compiled_call"): _get_compiled_call}
            # Without this module nothing has been compiled yet; importing it takes a second.
            dynamo = sys.modules.get("torch._dynamo.eval_frame")
            if dynamo is not None:
                replacements[dynamo.OptimizedModule, "__call__"] = _call_optimized
            cls.originals = tuple((owner, name, vars(owner)[name]) for owner, name in replacements)
            for owner, name, original in cls.originals:
                setattr(owner, name, replacements[owner, name](original))

    @classmethod
    def release(cls) -> None:
        with _lock:
            cls.count -= 1
            if cls.count == 0:
                for owner, name, original in cls.originals:
                    setattr(owner, name, original)


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


def _model_of(module: nn.Module) -> nn.Module | None:
    """The model with a session of this thread or task that the module is, contains, or is a part of."""
    for session in open_sessions() or ():
        model = None if session.wiring is None else session.wiring.model()
        if isinstance(model, nn.Module) and (model in set(module.modules()) or module in set(model.modules())):
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
    """Warn that no pass was seen where functions have been compiled: one may have run the model without its hooks."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None and dynamo.counters["frames"]["ok"]:
        warnings.warn(
            f"{purpose} saw no forward pass; a function of your own that was compiled with the model inside it, if one "
            "was called, ran without interventions: call it uncompiled inside the context",
            HeadcountWarning,
            stacklevel=4,
        )
