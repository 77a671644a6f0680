"""The interface of a source of synthetic texts, and how the values of its options are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

EXAMPLES = 100
"""Texts of a source, unless its options or `limit` say how many."""


def number(default: int | None, least: int) -> Any:
    """An option that is a whole number: `length=50`."""
    return _option(default, lambda value: _whole(value, least), f"a whole number of at least {least}")


def numbers(default: tuple[int, ...], least: int) -> Any:
    """An option that is one whole number or several: `tokens=512/1024`."""
    expected = f"a whole number of at least {least}, or several such as {least}/{2 * least}"
    return _option(default, lambda value: _several(value, lambda each: _whole(each, least)), expected)


def shares(default: tuple[float, ...]) -> Any:
    """An option that is one number from 0 to 1 or several: `depth=0.1/0.9`."""
    return _option(default, lambda value: _several(value, _share), "a number from 0 to 1, or several such as 0.1/0.9")


def choices(default: tuple[str, ...], example: str) -> Any:
    """An option that is one of the words of its default, or several: `number=singular/plural`."""
    expected = f"one of {', '.join(default)}, or several such as {example}"
    return _option(default, lambda value: _several(value, lambda each: _word(each, default)), expected)


def _option(default: Any, read: Callable[[Any], Any], expected: str) -> Any:
    """A field of a source; `read` gives the value of what a user wrote in a string or in Python, or a ValueError."""
    return field(default=default, metadata={"read": read, "expected": expected})


def _whole(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise ValueError
    if not least <= int(value) < 2**31:
        raise ValueError
    return int(value)


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError
    if not 0 <= float(value) <= 1:  # also if it is NaN
        raise ValueError
    return float(value)


def _word(value: Any, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError
    return str(value)


def _several(value: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    each = value.split("/") if isinstance(value, str) else value if isinstance(value, Iterable) else [value]
    values = tuple(read(one) for one in each)
    if not values or len(set(values)) < len(values):
        raise ValueError
    return values


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError
    return Path(value)


FILE = {"read": _path, "expected": "the path of a text file"}
"""What is known of an option that is the path of a file: `text=novel.txt`."""


@dataclass(frozen=True)
class Source:
    """A source of synthetic texts, with its options as fields.

    To add one, write a subclass in a file of its own and enter it in `source.py`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What its texts are, in one line."""

    examples: int | None = number(None, 1)
    """How many texts; None: as many as `limit` asks for, otherwise EXAMPLES."""

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        """`count` rows with `prompt`, `completion` (what is to be predicted after it) and what else is known of them.

        Row n depends on the tokenizer, the seed and n only: more rows leave the first ones as they are. Sources with
        pairs of inputs have the columns that `pairs.py` describes.
        """
        raise NotImplementedError
