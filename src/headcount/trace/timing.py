"""How long parts of a forward pass take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from headcount.trace.hooks import hooked


@contextmanager
def timed_spans(spans: Iterable[tuple[nn.Module, nn.Module]], clock: Callable[[], float]) -> Iterator[list[float]]:
    """The time from the start of each first module's call to the end of the last one's, in order of their ends.

    The calls of a single module are spans from it to itself.

    >>> layer = nn.Linear(2, 2)
    >>> ticks = iter([1.0, 1.5])
    >>> with timed_spans([(layer, layer)], lambda: next(ticks)) as durations:
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

    with ExitStack() as hooks:
        for first, last in spans:
            hooks.enter_context(hooked([first], before=begin))
            hooks.enter_context(hooked([last], after=end))
        yield durations
