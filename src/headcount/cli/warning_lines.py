"""How the command line speaks: every warning of Headcount is one line, with options by their own names, said once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from headcount.cli.wording import in_options
from headcount.errors import HeadcountWarning


def say(message: str) -> None:
    """One line on stderr, as it is: paths and quoted texts may hold brackets."""
    line = " ".join(message.splitlines())
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"headcount: {line}")


@contextmanager
def warnings_as_lines(options: Mapping[str, str]) -> Iterator[None]:
    """Inside, a warning of Headcount is one line on stderr; those of others are shown as Python does."""
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
