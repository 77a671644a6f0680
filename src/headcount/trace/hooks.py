"""Hooks and replaced functions that belong to one model: its copies and pickles are plain models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn


class Hook:
    """Calls `function`; its copies are inert, so that a copied model is a plain model."""

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return None if self.function is None else self.function(*args, **kwargs)

    # A compiler runs it as it is: what it does depends on the contexts that are open at the time.
    __call__._torchdynamo_disable = True  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Hook:
        return Hook()

    def __copy__(self) -> Hook:
        return Hook()

    def __reduce__(self) -> tuple[type[Hook], tuple[()]]:
        return Hook, ()


class AttributeOverride:
    """Replaces a function that is an attribute of a module; copies of the module get that function itself."""

    def __init__(self, module: nn.Module, name: str) -> None:
        self.module, self.name, self.original = module, name, vars(module)[name]
        setattr(module, name, self)

    def restore(self) -> None:
        if vars(self.module).get(self.name) is self:  # somebody else may have set the attribute meanwhile
            setattr(self.module, self.name, self.original)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.original

    def __reduce__(self) -> Any:
        return _itself, (self.original,)


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@contextmanager
def hooked(
    modules: Iterable[nn.Module], before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None
) -> Iterator[None]:
    """Call `before` and `after` around every call of the modules inside the context."""
    with ExitStack() as hooks:
        for module in modules:
            if before is not None:
                hooks.callback(module.register_forward_pre_hook(Hook(before)).remove)
            if after is not None:
                hooks.callback(module.register_forward_hook(Hook(after)).remove)
        yield
