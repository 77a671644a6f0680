"""Options that would have no effect are refused, not ignored; each is named as the user writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from headcount.errors import InvalidOption

RENAMED = {"compiled": "compile", "orders": "order", "inits": "init"}
"""Options that are called otherwise on the command line."""
_ON_COMMAND_LINE = ContextVar("on_command_line", default=False)


@contextmanager
def on_command_line() -> Iterator[None]:
    """Inside, messages name options (`--max-length`) instead of keywords (`max_length=`)."""
    token = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(token)


def spell(option: str) -> str:
    """An option as the user writes it.

    >>> spell("max_length")
    'max_length='
    >>> with on_command_line():
    ...     spell("max_length")
    '--max-length'
    """
    return f"--{RENAMED.get(option, option).replace('_', '-')}" if _ON_COMMAND_LINE.get() else f"{option}="


def without_effect(option: str, given: Any, because: str, instead: str = "leave it out") -> None:
    """Refuse an option that was given (anything but None and False) where nothing would read it.

    >>> without_effect("beams", None, because="no texts are generated")
    >>> without_effect("beams", 4, because="no texts are generated")
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got beams=, which has no effect here: no texts are generated; leave it out
    """
    if given is not None and given is not False:
        raise InvalidOption(f"got {spell(option)}, which has no effect here: {because}; {instead}")


def belongs_to(option: str, given: Any, other: str, there: Any) -> None:
    """Refuse an option that was given without the other one that it belongs to.

    >>> belongs_to("size", 3, "draws", None)
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got size=, which has no effect without draws=; give draws= too, or leave it out
    """
    if given is not None and given is not False and (there is None or there is False):
        raise InvalidOption(
            f"got {spell(option)}, which has no effect without {spell(other)}; give {spell(other)} too, or leave it out"
        )


def no_repeats(where: str, values: Iterable[Any]) -> None:
    """Refuse a list that names something twice: it would be counted twice, or once without a word.

    >>> no_repeats(spell("tasks"), ["mrpc", "rte", "mrpc"])
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got mrpc twice in tasks=; expected each once
    """
    seen: list[Any] = []
    for value in values:
        if value in seen:
            raise InvalidOption(f"got {value} twice in {where}; expected each once")
        seen.append(value)
