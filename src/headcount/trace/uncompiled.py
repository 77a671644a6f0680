"""A compiled model runs uncompiled inside a context: compiled code cannot be edited.

Compiled code is kept and used again afterwards. Covered are `torch.compile(model)` or a module around it,
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
from headcount.trace.hooks import AttributeOverride
from headcount.trace.open_sessions import open_sessions

_lock = threading.RLock()
_warned: WeakSet[nn.Module] = WeakSet()


def run_uncompiled(model: PreTrainedModel, wiring: Any) -> Callable[[], None]:
    """Let passes under the sessions of `wiring` run uncompiled, until the returned function is called."""
    overrides = []
    for module in model.modules():
        if vars(module).get("_compiled_call_impl") is not None:
            overrides.append(_Uncompiled(module, "_compiled_call_impl", module._call_impl, wiring))
        plain: Any = getattr(vars(module).get("forward"), "_torchdynamo_orig_callable", None)
        if plain is not None:
            overrides.append(_Uncompiled(module, "forward", plain, wiring))
    _ClassCalls.hold()

    def stop() -> None:
        _ClassCalls.release()
        for override in overrides:
            override.restore()

    return stop


class _Uncompiled(AttributeOverride):
    """Replaces a compiled function of a module: under a session, the function that it was compiled from is called."""

    def __init__(self, module: nn.Module, name: str, plain: Callable[..., Any], wiring: Any) -> None:
        super().__init__(module, name)
        self.plain, self.wiring = plain, wiring

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.wiring.active:
            return self.original(*args, **kwargs)
        _warn(self.wiring.model() or self.module)
        return self.plain(*args, **kwargs)


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
