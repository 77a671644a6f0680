"""Earlier names of options are refused with a message that has the new one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from headcount.errors import InvalidOption

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**earlier: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function refuse earlier names of its parameters; each is given with what to write now.

    >>> sweep = renamed(beams='generate={"num_beams": ...}')(lambda **options: options)
    >>> sweep(beams=4)
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got beams=, which is now generate={"num_beams": ...}
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name in earlier:
                    raise InvalidOption(f"got {name}=, which is now {earlier[name]}")
            return function(*args, **kwargs)

        return call

    return decorate
