"""What holds for this process alone: context variables that work which is sent elsewhere would not see."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

_registered: list[tuple[ContextVar[Any], str]] = []


def register_local_context(variable: ContextVar[Any], what: str) -> None:
    """Work that depends on this variable must not be sent elsewhere while it has a value that is not empty."""
    _registered.append((variable, what))


def open_local_contexts() -> list[str]:
    """What is open now, in words."""
    return [what for variable, what in _registered if variable.get(None)]
