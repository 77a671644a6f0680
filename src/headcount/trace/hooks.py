"""Hooks that belong to one model: in a copy or a pickle of the model they do nothing."""

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
