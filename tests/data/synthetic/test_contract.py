"""Values of options: what is read from strings and from Python, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from headcount.data.synthetic.contract import FILE, Source, choices, number, numbers, shares


@dataclass(frozen=True)
class Example(Source):
    one: int = number(3, 2)
    more: tuple[int, ...] = numbers((8,), 4)
    parts: tuple[float, ...] = shares((0.5,))
    word: tuple[str, ...] = choices(("left", "right"), "left/right")
    path: Path | None = field(default=None, metadata=FILE)


def read(option: str, value: Any) -> Any:
    return next(each for each in fields(Example) if each.name == option).metadata["read"](value)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("one", "2", 2),
        ("one", 7, 7),
        ("more", "4/16", (4, 16)),
        ("more", 4, (4,)),
        ("more", [4, 5], (4, 5)),
        ("parts", "0/0.25/1", (0.0, 0.25, 1.0)),
        ("parts", 1, (1.0,)),
        ("word", "right", ("right",)),
        ("word", "right/left", ("right", "left")),
        ("word", ["left"], ("left",)),
        ("path", "a/b.txt", Path("a/b.txt")),
        ("examples", "1", 1),
    ],
)
def test_read(option: str, value: Any, expected: Any) -> None:
    assert read(option, value) == expected


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("one", value) for value in ("1", "", "2.0", "-3", "²", "1_0", 1, 2.5, True, None, str(2**31))),
        *(("more", value) for value in ("", "4/", "4/4", "3", [], None, [4, True])),
        *(("parts", value) for value in ("1.1", "-0.1", "nan", "x", "0.5/0.50", None, True)),
        *(("word", value) for value in ("", "up", "left/left", "left/", [], None, 3, ["left", 3])),
        *(("path", value) for value in ("", None, 3)),
    ],
)
def test_refused(option: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        read(option, value)
