"""Messages on stderr: every warning of Headcount is one line, in the words of the command line, printed once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from headcount.cli.wording import in_options
from headcount.errors import HeadcountWarning


def say(message: str) -> None:
    """Print one line on stderr, without markup: paths and quoted texts may contain brackets."""
    line = " ".join(message.splitlines())
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"headcount: {line}")


@contextmanager
def warnings_as_lines(options: Mapping[str, str]) -> Iterator[None]:
    """A context in which warnings of Headcount are lines on stderr; other warnings are shown as usual."""
    said: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", HeadcountWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, HeadcountWarning):
                usual(message, category, *where, **more)
            elif str(message) not in said:
                said.add(str(message))
                say(in_options(str(message), options))

        warnings.showwarning = show
        yield
