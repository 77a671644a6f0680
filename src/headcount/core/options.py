"""Options without effect, and values that are none of the choices, are refused, not ignored.

Messages name them as in Python, `num_beams=`; the command line puts in its own names (`cli/wording.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headcount.errors import InvalidOption


def without_effect(option: str, value: Any, because: str, instead: str = "leave it out") -> None:
    """Refuse an option that was given (anything but None and False) where it would be ignored.

    >>> without_effect("num_beams", None, because="no texts are generated")
    >>> without_effect("num_beams", 4, because="no texts are generated")
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got num_beams=, which has no effect here: no texts are generated; leave it out
    """
    if value is not None and value is not False:
        raise InvalidOption(f"got {option}=, which has no effect here: {because}; {instead}")


def belongs_to(option: str, value: Any, other: str, other_value: Any) -> None:
    """Refuse an option that was given without the other option that it belongs to.

    >>> belongs_to("size", 3, "draws", None)
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got size=, which has no effect without draws=; give draws= too, or leave it out
    """
    if value is not None and value is not False and (other_value is None or other_value is False):
        raise InvalidOption(f"got {option}=, which has no effect without {other}=; give {other}= too, or leave it out")


def one_of(option: str, value: str, choices: Iterable[str]) -> str:
    """The value, if it is one of the choices.

    >>> one_of("how", "zero", ("zero", "mean"))
    'zero'
    >>> one_of("how", "none", ("zero", "mean"))
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got how='none'; expected one of zero, mean
    """
    choices = tuple(choices)
    if value not in choices:
        raise InvalidOption(f"got {option}={value!r}; expected one of {', '.join(choices)}")
    return value


def no_repeats(option: str, values: Iterable[Any]) -> None:
    """Refuse a list with duplicates, which would be counted twice or silently dropped.

    >>> no_repeats("tasks", ["mrpc", "rte", "mrpc"])
    Traceback (most recent call last):
    headcount.errors.InvalidOption: got mrpc twice in tasks=; expected each once
    """
    seen: list[Any] = []
    for value in values:
        if value in seen:
            raise InvalidOption(f"got {value} twice in {option}=; expected each once")
        seen.append(value)
