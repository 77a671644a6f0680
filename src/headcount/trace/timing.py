"""How long calls of modules take inside a forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from headcount.trace.hooks import hooked


@contextmanager
def timed_calls(modules: Iterable[nn.Module], clock: Callable[[], float]) -> Iterator[list[float]]:
    """The duration of every call of these modules inside the context, as the clock measures it, in order of their ends.

    >>> layer = nn.Linear(2, 2)
    >>> ticks = iter([1.0, 1.5])
    >>> with timed_calls([layer], lambda: next(ticks)) as durations:
    ...     _ = layer(nn.Parameter(layer.weight[0]))
    >>> durations
    [0.5]
    """
    durations: list[float] = []
    started: list[float] = []

    def begin(*_: Any) -> None:
        started.append(clock())

    def end(*_: Any) -> None:
        durations.append(clock() - started.pop())

    with hooked(modules, begin, end):
        yield durations
