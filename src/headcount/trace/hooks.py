"""A hook that belongs to one model: in a copy or a pickle of the model it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
